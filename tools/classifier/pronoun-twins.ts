// The same sentence of a woman and of a man: what is learnt may not hang on which of them the examples happened to be about.
import { bare } from './corpus.ts';
import type { Row } from './corpus.ts';

const SWAPPED: Readonly<Record<string, string>> = {
  he: 'she',
  she: 'he',
  him: 'her',
  his: 'her',
  hers: 'his',
  himself: 'herself',
  herself: 'himself',
  "he's": "she's",
  "she's": "he's",
  "he'd": "she'd",
  "she'd": "he'd",
  "he'll": "she'll",
  "she'll": "he'll",
};
/** Behind "her" as an object; before anything else it says whose. */
const OBJECT =
  /^(?:$|[^\w\s']|\s+(?:a|an|and|as|at|back|because|before|but|by|for|from|if|in|is|it|like|of|off|on|or|out|over|so|that|the|there|this|to|until|up|was|when|where|while|who|why|with)\b|\s*$)/i;

/** The text with each pronoun of one gender in the place of the other; null when it has none. */
export function pronounTwin(text: string): string | null {
  const twin = text.replace(
    /\b(?:s?he(?:['’](?:s|d|ll))?|him(?:self)?|his|her(?:s|self)?)\b/gi,
    (word, at: number) => {
      const plain = word.toLowerCase().replace('’', "'");
      const behind = text.slice(at + word.length);
      const other =
        plain === 'her' ? (OBJECT.test(behind) ? 'him' : 'his') : (SWAPPED[plain] ?? word);
      return /^[A-Z]/.test(word) ? other.charAt(0).toUpperCase() + other.slice(1) : other;
    },
  );
  return twin === text ? null : twin;
}

/** Sets of templates, of weak labels, and those whose texts are measured in folds: taught as they are. */
const WITHOUT = ['hatecheck', 'surge', 'madlibs', 'diasafety', 'diasafety-response'];

/** Beside each training text the same of the other gender, each at half of its weight; no twin is a text that is held out. */
export function withTwins(rows: readonly Row[]): Row[] {
  const held = new Set(rows.filter(({ split }) => split !== 'train').map(({ text }) => bare(text)));
  return rows.flatMap((row) => {
    const taught = row.split === 'train' && !WITHOUT.includes(row.set);
    const twin = taught ? pronounTwin(row.text) : null;
    if (twin === null || held.has(bare(twin))) return [row];
    const half = { ...row, weights: row.weights.map((weight) => weight / 2) };
    return [half, { ...half, text: twin }];
  });
}
