// One text, taken apart: words, sentences, classes, scope. Both the rules and the linear models read this and nothing else.
import type { Lexicon } from './lexicon.ts';
import type { Marks } from './marks.ts';
import { normalise } from './normalise.ts';
import { withoutRepeats } from './repeats.ts';
import { scopeOf } from './scope.ts';
import type { compileScope } from './scope.ts';
import { tokenise } from './tokens.ts';
import type { Tokens } from './tokens.ts';
import type { Vocabulary } from './vocabulary.ts';

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
  const flags = scopeOf(tables.scope, tokens, marks);
  return { text, tokens, marks, flags, capitals_milli, foreign_milli };
}
