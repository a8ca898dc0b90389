// What a sentence does with its words: denies them, quotes them, reports and condemns them. Rules ask for it before they count.
import { CONTRAST, NEGATOR, PSEUDO } from './kinds.ts';
import { Needs } from './needs.ts';
import { Matcher } from './matcher.ts';
import { compile } from './patterns.ts';
import type { Window } from './marks.ts';
import type { Lexicon } from './lexicon.ts';
import type { Marks } from './marks.ts';
import type { Tokens } from './tokens.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Bits for each token. */
export const DENIED = 1;
export const QUOTED = 2;
export const REPORTED = 4;

const NEGATION_REACH = 7;
/** The bits of a window of which nothing is known. */
const ANY = { words: -1, classes: -1, mask: -1 };

interface Pieces {
  readonly needs: Needs;
  readonly matcher: Matcher;
  /** For each pattern of a reporting sentence where its needs and its steps are filed, in pairs. */
  readonly reported: Int32Array;
}

/** Compiles the scope tables. `reported` are patterns of sentences that hold the words of someone else against them. */
export function compileScope(
  reported: readonly string[],
  lexicon: Lexicon,
  vocabulary: Vocabulary,
): Pieces {
  const needs = new Needs();
  const matcher = new Matcher();
  const places = reported.flatMap((source) => {
    const pattern = compile(source, lexicon, vocabulary);
    return [needs.add(pattern), matcher.add(pattern)];
  });
  needs.seal();
  matcher.seal();
  return { needs, matcher, reported: Int32Array.from(places) };
}

/** The flags of every token, sentence by sentence. */
export function scopeOf(pieces: Pieces, tokens: Tokens, marks: Marks): Uint8Array {
  const flags = new Uint8Array(tokens.words.length);
  const anyQuote = tokens.quoted.length > 0;
  const { needs, matcher } = pieces;
  const reports: number[] = [];
  const { reported } = pieces;
  for (let k = 0; k < reported.length; k += 2)
    if (needs.met(reported[k] ?? 0, marks, ANY)) reports.push(reported[k + 1] ?? 0);
  for (const sentence of marks.sentences) {
    deny(tokens, marks, sentence, flags);
    if (anyQuote) quote(tokens, sentence, flags);
    for (const place of reports) {
      if (matcher.find(place, tokens, marks, sentence) === undefined) continue;
      for (let k = sentence.from; k < sentence.to; k++) flags[k] = (flags[k] ?? 0) | REPORTED;
      break;
    }
  }
  return flags;
}

function deny(tokens: Tokens, marks: Marks, sentence: Window, flags: Uint8Array): void {
  let left = 0;
  for (let k = sentence.from; k < sentence.to; k++) {
    const kind = marks.kinds[k] ?? 0;
    if (left > 0) {
      if ((k > sentence.from && (tokens.breaks[k] ?? 0) > 0) || (kind & CONTRAST) !== 0) left = 0;
      else {
        flags[k] = (flags[k] ?? 0) | DENIED;
        left--;
      }
    }
    if ((kind & (NEGATOR | PSEUDO)) === NEGATOR) left = NEGATION_REACH;
  }
}

/** A sentence that is one whole quotation is the speaker's own; only words quoted inside another sentence are set apart. */
function quote(tokens: Tokens, sentence: Window, flags: Uint8Array): void {
  let outside = 0;
  for (let k = sentence.from; k < sentence.to; k++) if (tokens.quoted[k] !== true) outside++;
  if (outside < 2) return;
  for (let k = sentence.from; k < sentence.to; k++) {
    if (tokens.quoted[k] === true) flags[k] = (flags[k] ?? 0) | QUOTED;
  }
}
