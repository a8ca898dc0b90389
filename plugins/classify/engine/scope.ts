// What a sentence does with its words: denies them, quotes them, reports and condemns them. Rules ask for it before they count.
import { compile, find, newScratch, possible } from './patterns.ts';
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
  readonly negator: number;
  readonly pseudo: number;
  readonly contrast: number;
  readonly reported: readonly Pattern[];
  readonly scratch: Scratch;
}

/** Compiles the scope tables. `reported` are patterns of sentences that hold the words of someone else against them. */
export function compileScope(
  reported: readonly string[],
  lexicon: Lexicon,
  vocabulary: Vocabulary,
): Pieces {
  return {
    negator: lexicon.known('negator'),
    pseudo: lexicon.known('pseudo_negation'),
    contrast: lexicon.known('contrast'),
    reported: reported.map((source) => compile(source, lexicon, vocabulary)),
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
  const anyQuote = tokens.quoted.includes(true);
  const denies = marks.present[pieces.negator] === 1;
  const { scratch } = pieces;
  const reports = pieces.reported.filter((pattern) => possible(pattern, marks));
  for (const sentence of sentences) {
    if (denies) deny(pieces, tokens, marks, sentence, flags);
    if (anyQuote) quote(tokens, sentence, flags);
    for (const pattern of reports) {
      if (find(pattern, tokens, marks, sentence, scratch) === undefined) continue;
      for (let k = sentence.from; k < sentence.to; k++) flags[k] = (flags[k] ?? 0) | REPORTED;
      break;
    }
  }
  return flags;
}

function deny(
  pieces: Pieces,
  tokens: Tokens,
  marks: Marks,
  sentence: Window,
  flags: Uint8Array,
): void {
  let left = 0;
  for (let k = sentence.from; k < sentence.to; k++) {
    const spans = marks.spans[k];
    const brk = tokens.breaks[k] ?? 0;
    if (k > sentence.from && brk > 0) left = 0;
    if (spans !== undefined && has(spans, pieces.contrast)) left = 0;
    if (left > 0) {
      flags[k] = (flags[k] ?? 0) | DENIED;
      left--;
    }
    if (spans !== undefined && has(spans, pieces.negator) && !has(spans, pieces.pseudo)) {
      left = NEGATION_REACH;
    }
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

function has(spans: readonly number[], cls: number): boolean {
  for (let k = 0; k < spans.length; k += 2) if (spans[k] === cls) return true;
  return false;
}
