// What a sentence does with its words: denies them, quotes them, reports and condemns them. Rules ask for it before they count.
import { CONTRAST, NEGATOR, PSEUDO } from './features.ts';
import { Needs } from './needs.ts';
import { compile, find, newScratch } from './patterns.ts';
import type { Pattern, Scratch, Window } from './patterns.ts';
import type { Lexicon, Marks } from './lexicon.ts';
import type { Tokens } from './tokens.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Bits for each token. */
export const DENIED = 1;
export const QUOTED = 2;
export const REPORTED = 4;

const NEGATION_REACH = 7;

interface Pieces {
  readonly reported: readonly Pattern[];
  readonly needs: Needs;
  /** For each of `reported`, where its needs are filed. */
  readonly places: readonly number[];
  readonly scratch: Scratch;
}

/** Compiles the scope tables. `reported` are patterns of sentences that hold the words of someone else against them. */
export function compileScope(
  reported: readonly string[],
  lexicon: Lexicon,
  vocabulary: Vocabulary,
): Pieces {
  const needs = new Needs();
  const patterns = reported.map((source) => compile(source, lexicon, vocabulary));
  const places = patterns.map((pattern) => needs.add(pattern));
  needs.seal();
  return {
    reported: patterns,
    needs,
    places,
    scratch: newScratch(),
  };
}

/** The flags of every token, sentence by sentence. */
export function scopeOf(
  pieces: Pieces,
  tokens: Tokens,
  marks: Marks,
  sentences: readonly Window[],
): Uint8Array {
  const flags = new Uint8Array(tokens.words.length);
  const anyQuote = tokens.quoted.length > 0;
  const { scratch } = pieces;
  const reports = pieces.reported.filter((_pattern, k) =>
    pieces.needs.met(pieces.places[k] ?? 0, marks),
  );
  for (const sentence of sentences) {
    deny(tokens, marks, sentence, flags);
    if (anyQuote) quote(tokens, sentence, flags);
    for (const pattern of reports) {
      if (find(pattern, tokens, marks, sentence, scratch) === undefined) continue;
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
