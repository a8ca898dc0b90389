// Under which of its steps a pattern is filed: it is tried where a word or class of that step stands, so the rarer the better.
import { oftenness } from './lexicon.ts';
import type { Lexicon } from './lexicon.ts';
import type { Pattern, Step } from './patterns.ts';

/** The key of a pattern in a rule of this span; `common` are the ids of function words. */
export function keysFor(
  lexicon: Lexicon,
  common: ReadonlySet<number>,
): (pattern: Pattern, span: 1 | 2) => Step {
  const often = ({ words, classes }: Step): number =>
    words.reduce((all, id) => all + oftenness(common.has(id) ? 0 : id), 0) +
    classes.reduce((all, cls) => all + lexicon.often(cls), 0);
  const breadth = ({ words, classes }: Step): number =>
    words.length + 3 * classes.length + 100 * words.filter((word) => common.has(word)).length;
  // Of a rule that looks at neighbours the key also says whose: it may not hang on how common words are.
  return (pattern, span) => cheapest(pattern, span === 2 ? breadth : often);
}

function cheapest({ source, needed, steps }: Pattern, cost: (step: Step) => number): Step {
  let key: Step | undefined;
  let least = Infinity;
  for (const step of steps) {
    if (!needed.includes(step)) continue;
    const own = cost(step);
    if (own <= least) {
      least = own;
      key = step;
    }
  }
  if (key === undefined) throw new Error(`pattern without a word it needs: ${source}`);
  return key;
}
