// Rule patterns over words and classes, as the catalogs write them and as steps.
import { bitOf } from './marks.ts';
import type { Lexicon } from './lexicon.ts';
import type { Vocabulary } from './vocabulary.ts';

export const MATCH = 0;
export const GAP = 1;
export const START = 2;
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
