// Rule patterns over words and classes, run as sets of reachable positions: no backtracking, time = pattern length x sentence length.
import { bitOf } from './lexicon.ts';
import type { Lexicon, Marks } from './lexicon.ts';
import type { Tokens } from './tokens.ts';
import type { Vocabulary } from './vocabulary.ts';

const MATCH = 0;
const GAP = 1;
const START = 2;
const END = 3;

/** One step of a pattern. */
export interface Step {
  readonly kind: typeof MATCH | typeof GAP | typeof START | typeof END;
  readonly words: readonly number[];
  readonly classes: readonly number[];
  /** A bit for each word and each class, see `bitOf`: most words of a text are refused by one of them. */
  readonly wordBits: number;
  readonly classBits: number;
  readonly optional: boolean;
  /** The farthest a gap reaches, in words. */
  readonly reach: number;
}

/** A compiled pattern. */
export interface Pattern {
  readonly source: string;
  readonly steps: readonly Step[];
  /** The steps that a match cannot do without, those with the fewest words first. */
  readonly needed: readonly Step[];
}

/**
 * Compiles `i ~2 want|wanna to? @kill ~3 myself`: words, `@class`, `a|b`, `x?` optional, `~n` up to n words between, `^` and `$`
 * the ends of the window.
 */
export function compile(source: string, lexicon: Lexicon, vocabulary: Vocabulary): Pattern {
  const steps: Step[] = [];
  for (const piece of source.split(' ')) {
    if (piece === '') continue;
    const step = compileStep(piece, lexicon, vocabulary, source);
    steps.push(step);
  }
  const needed = steps
    .filter(({ kind, optional }) => kind === MATCH && !optional)
    .sort((a, b) => breadth(a) - breadth(b));
  return { source, steps, needed };
}

/** How many words and classes fit a step; a class counts as three words. */
function breadth({ words, classes }: Step): number {
  return words.length + 3 * classes.length;
}

function compileStep(
  piece: string,
  lexicon: Lexicon,
  vocabulary: Vocabulary,
  source: string,
): Step {
  const bare: Step = {
    kind: GAP,
    words: [],
    classes: [],
    wordBits: 0,
    classBits: 0,
    optional: false,
    reach: 0,
  };
  if (piece === '^') return { ...bare, kind: START };
  if (piece === '$') return { ...bare, kind: END };
  if (piece.startsWith('~')) {
    const reach = Number(piece.slice(1));
    if (!Number.isInteger(reach) || reach < 1 || reach > 12)
      throw new Error(`bad gap in pattern: ${source}`);
    return { ...bare, reach };
  }
  const optional = piece.endsWith('?');
  const words: number[] = [];
  const classes: number[] = [];
  for (const part of (optional ? piece.slice(0, -1) : piece).split('|')) {
    if (part.startsWith('@')) {
      classes.push(lexicon.known(part.slice(1)));
      continue;
    }
    const cut = lexicon.wordsOf(part);
    const [word] = cut;
    if (word === undefined || cut.length !== 1 || word !== part.replaceAll("'", ''))
      throw new Error(`"${part}" is not one word in pattern: ${source}`);
    words.push(vocabulary.add(word));
  }
  const wordBits = words.reduce((bits, word) => bits | bitOf(word), 0);
  const classBits = classes.reduce((bits, cls) => bits | bitOf(cls), 0);
  return { kind: MATCH, words, classes, wordBits, classBits, optional, reach: 0 };
}

/** A window of a text: tokens from `from` up to `to`. */
export interface Window {
  readonly from: number;
  readonly to: number;
}

/** The first span, as [from, to), where the pattern matches inside the window. */
export function find(
  pattern: Pattern,
  tokens: Tokens,
  marks: Marks,
  window: Window,
  scratch: Scratch,
): Window | undefined {
  const { from, to } = window;
  const last = to - from;
  const { steps } = pattern;
  // reached[p] is the beginning of a partial match that ends before token from+p, or -1; read from `lo` to `hi` only.
  let { reached, next } = scratch;
  let lo = 0;
  let hi = last;
  // Most texts have few of the words a match begins with: what stands before the first of them need not be looked at.
  const first = steps[0];
  if (first?.kind === MATCH && !first.optional) {
    lo = seek(first, tokens, marks, from, last);
    if (lo === last) return undefined;
  }
  for (let p = lo; p <= last; p++) reached[p] = p;
  for (const step of steps) {
    if (step.kind === MATCH) {
      scratch.lo = lo;
      scratch.hi = hi;
      if (!advance(step, tokens, marks, from, last, reached, next, scratch)) return undefined;
      lo = scratch.lo;
      hi = scratch.hi;
    } else if (step.kind === GAP) {
      hi = spread(reached, next, lo, hi, Math.min(last, hi + step.reach), step.reach);
    } else if (step.kind === START) {
      next[0] = 0;
      lo = hi = 0;
    } else {
      if (hi < last || reached[last] === -1) return undefined;
      next[last] = reached[last] ?? -1;
      lo = hi = last;
    }
    [reached, next] = [next, reached];
  }
  for (let p = lo; p <= hi; p++) {
    const begin = reached[p] ?? -1;
    if (begin >= 0) return { from: from + begin, to: from + p };
  }
  return undefined;
}

/** Two rows of positions and the part of the row in use, reused from call to call. */
export interface Scratch {
  readonly reached: Int32Array;
  readonly next: Int32Array;
  lo: number;
  hi: number;
}

/** Windows are at most this many tokens. */
export const WIDEST = 160;

export function newScratch(): Scratch {
  const row = (): Int32Array => new Int32Array(WIDEST + 2);
  return { reached: row(), next: row(), lo: 0, hi: 0 };
}

function spread(
  reached: Int32Array,
  next: Int32Array,
  lo: number,
  hi: number,
  end: number,
  reach: number,
): number {
  let begin = -1;
  let left = 0;
  for (let p = lo; p <= end; p++) {
    const own = p <= hi ? (reached[p] ?? -1) : -1;
    if (own >= 0) {
      begin = own;
      left = reach;
      next[p] = own;
    } else if (left > 0) {
      left--;
      next[p] = begin;
    } else next[p] = -1;
  }
  return end;
}

/** The first position whose token may fit a step; `last` when there is none. */
function seek(step: Step, tokens: Tokens, marks: Marks, from: number, last: number): number {
  const { wordBits, classBits } = step;
  const { ids } = tokens;
  const { bits } = marks;
  for (let p = 0; p < last; p++) {
    if ((classBits & (bits[from + p] ?? 0)) !== 0) return p;
    if (wordBits === 0) continue;
    const id = ids[from + p] ?? -1;
    if (id >= 0 && (wordBits & bitOf(id)) !== 0) return p;
  }
  return last;
}

/** Takes one word or class after each reached position; false when none is there. */
function advance(
  step: Step,
  tokens: Tokens,
  marks: Marks,
  from: number,
  last: number,
  reached: Int32Array,
  next: Int32Array,
  scratch: Scratch,
): boolean {
  const { lo, hi } = scratch;
  const { wordBits, classBits } = step;
  const { ids } = tokens;
  const { spans, bits } = marks;
  let filled = lo - 1; // next[] is written from lo up to here
  let least = last + 1;
  if (step.optional) {
    for (let p = lo; p <= hi; p++) next[p] = reached[p] ?? -1;
    filled = hi;
    least = lo;
  }
  const end = hi < last ? hi : last - 1;
  for (let p = lo; p <= end; p++) {
    const at = from + p;
    const id = ids[at] ?? -1;
    const word = id >= 0 && (wordBits & bitOf(id)) !== 0 && step.words.includes(id);
    const cls = (classBits & (bits[at] ?? 0)) !== 0;
    if (!word && !cls) continue;
    const begin = reached[p] ?? -1;
    if (begin < 0) continue;
    if (word) {
      while (filled <= p) next[++filled] = -1;
      if ((next[p + 1] ?? -1) < begin) next[p + 1] = begin;
      if (p + 1 < least) least = p + 1;
    }
    const own = cls ? spans[at] : undefined;
    if (own === undefined) continue;
    for (let k = 0; k < own.length; k += 2) {
      const to = p + (own[k + 1] ?? 0);
      if (to > last || !step.classes.includes(own[k] ?? -1)) continue;
      while (filled < to) next[++filled] = -1;
      // A later beginning gives the tighter span.
      if ((next[to] ?? -1) < begin) next[to] = begin;
      if (to < least) least = to;
    }
  }
  if (least > last) return false;
  scratch.lo = least;
  scratch.hi = filled;
  return true;
}
