// One text, taken apart: words, sentences, classes, scope. Both the rules and the linear models read this and nothing else.
import { bitOf } from './marks.ts';
import type { Lexicon } from './lexicon.ts';
import type { Marks } from './marks.ts';
import { normalise } from './normalise.ts';
import type { Sentence } from './patterns.ts';
import { withoutRepeats } from './repeats.ts';
import { scopeOf } from './scope.ts';
import type { compileScope } from './scope.ts';
import { SENTENCE, tokenise } from './tokens.ts';
import type { Tokens } from './tokens.ts';
import type { Vocabulary } from './vocabulary.ts';

/** The longest sentence the rules look at as one; longer ones are cut. */
const LONGEST_SENTENCE = 48;

/** The tables an analysis needs. */
export interface Tables {
  readonly vocabulary: Vocabulary;
  readonly lexicon: Lexicon;
  readonly scope: ReturnType<typeof compileScope>;
}

/** A text as the rules and models see it. */
export interface Analysis {
  readonly text: string;
  readonly tokens: Tokens;
  readonly marks: Marks;
  readonly flags: Uint8Array;
  readonly sentences: readonly Sentence[];
  readonly capitals_milli: number;
  readonly foreign_milli: number;
}

/** Takes a text apart; linear in its length. */
export function analyse(original: string, tables: Tables): Analysis {
  const { text: whole, capitals_milli, foreign_milli } = normalise(original);
  const cutWhole = tokenise(whole, tables.vocabulary);
  const shorter = withoutRepeats(whole, cutWhole);
  const text = shorter ?? whole;
  const tokens = shorter === undefined ? cutWhole : tokenise(shorter, tables.vocabulary);
  const marks = tables.lexicon.mark(tokens);
  const sentences = cut(tokens, marks);
  const flags = scopeOf(tables.scope, tokens, marks, sentences);
  return { text, tokens, marks, flags, sentences, capitals_milli, foreign_milli };
}

function cut(tokens: Tokens, { bits }: Marks): Sentence[] {
  const { ids, breaks } = tokens;
  const sentences: Sentence[] = [];
  const n = tokens.words.length;
  let from = 0;
  let words = 0;
  let classes = 0;
  for (let k = 0; k < n; k++) {
    const id = ids[k] ?? -1;
    if (id >= 0) words |= bitOf(id);
    classes |= bits[k] ?? 0;
    const to = k + 1;
    if (to === n || breaks[to] === SENTENCE || to - from >= LONGEST_SENTENCE) {
      sentences.push({ from, to, words, classes });
      from = to;
      words = classes = 0;
    }
  }
  return sentences;
}
