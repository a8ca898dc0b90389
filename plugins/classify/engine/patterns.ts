// Rule patterns over words and classes, run as sets of reachable positions: no backtracking, time = pattern length x sentence length.
import type { Lexicon, Marks } from './lexicon.ts';
import type { Tokens } from './tokens.ts';
import type { Vocabulary } from './vocabulary.ts';

interface Step {
  readonly kind: 'match' | 'gap' | 'start' | 'end';
  readonly words: readonly number[];
  readonly classes: readonly number[];
  readonly optional: boolean;
  /** The farthest a gap reaches, in words. */
  readonly reach: number;
}

/** A compiled pattern. */
export interface Pattern {
  readonly source: string;
  readonly steps: readonly Step[];
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
  return { source, steps };
}

function compileStep(
  piece: string,
  lexicon: Lexicon,
  vocabulary: Vocabulary,
  source: string,
): Step {
  const bare: Step = { kind: 'gap', words: [], classes: [], optional: false, reach: 0 };
  if (piece === '^') return { ...bare, kind: 'start' };
  if (piece === '$') return { ...bare, kind: 'end' };
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
  return { kind: 'match', words, classes, optional, reach: 0 };
}

/** False when a word or class that the pattern cannot do without is nowhere in the text: cheap, asked before `find`. */
export function possible(pattern: Pattern, marks: Marks): boolean {
  for (const step of pattern.steps) {
    if (step.kind === 'match' && !step.optional && !stands(step, marks)) return false;
  }
  return true;
}

function stands(step: Step, marks: Marks): boolean {
  const { present, words } = marks;
  for (const cls of step.classes) if (present[cls] === 1) return true;
  for (const word of step.words)
    if (((words[word >> 3] ?? 0) & (1 << (word & 7))) !== 0) return true;
  return false;
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
  const width = to - from + 1;
  // reached[p] is the leftmost beginning of a partial match that ends before token from+p, or -1.
  let { reached, next } = scratch;
  for (let p = 0; p < width; p++) reached[p] = p;
  for (const step of pattern.steps) {
    let any: boolean;
    if (step.kind === 'gap') {
      spread(reached, next, width, step.reach);
      any = true;
    } else if (step.kind === 'start') {
      next.fill(-1, 0, width);
      next[0] = 0;
      any = true;
    } else if (step.kind === 'end') {
      next.fill(-1, 0, width);
      next[width - 1] = reached[width - 1] ?? -1;
      any = next[width - 1] !== -1;
    } else {
      if (step.optional) next.set(reached.subarray(0, width));
      else next.fill(-1, 0, width);
      any = step.optional;
      for (let p = 0; p < width - 1; p++) {
        const begin = reached[p] ?? -1;
        if (begin >= 0) any = advance(step, tokens, marks, from, p, begin, next, width) || any;
      }
    }
    if (!any) return undefined;
    [reached, next] = [next, reached];
  }
  for (let p = 0; p < width; p++) {
    const begin = reached[p] ?? -1;
    if (begin >= 0) return { from: from + begin, to: from + p };
  }
  return undefined;
}

/** Two rows of positions, reused from call to call. */
export interface Scratch {
  readonly reached: Int32Array;
  readonly next: Int32Array;
}

/** Windows are at most this many tokens. */
export const WIDEST = 160;

export function newScratch(): Scratch {
  return { reached: new Int32Array(WIDEST + 2), next: new Int32Array(WIDEST + 2) };
}

function spread(reached: Int32Array, next: Int32Array, width: number, reach: number): void {
  let begin = -1;
  let left = 0;
  for (let p = 0; p < width; p++) {
    const own = reached[p] ?? -1;
    if (own >= 0) {
      begin = own;
      left = reach;
      next[p] = own;
    } else if (left > 0) {
      left--;
      next[p] = begin;
    } else next[p] = -1;
  }
}

function advance(
  step: Step,
  tokens: Tokens,
  marks: Marks,
  from: number,
  p: number,
  begin: number,
  next: Int32Array,
  width: number,
): boolean {
  let any = false;
  const id = tokens.ids[from + p] ?? -1;
  if (id >= 0 && step.words.includes(id)) any = reach(next, p + 1, begin);
  if (step.classes.length > 0) {
    const spans = marks.spans[from + p];
    if (spans !== undefined) {
      for (let k = 0; k < spans.length; k += 2) {
        const end = (spans[k + 1] ?? 0) - from;
        if (end < width && step.classes.includes(spans[k] ?? -1)) any = reach(next, end, begin);
      }
    }
  }
  return any;
}

/** A later beginning gives the tighter span. */
function reach(next: Int32Array, end: number, begin: number): true {
  if ((next[end] ?? -1) < begin) next[end] = begin;
  return true;
}
