// Which of the four languages a text is in, by its function words; anything else is said to be unsupported.
import type { Tokens } from './tokens.ts';

/** Function words by language code; `supported` are the four the rules and models know. */
export interface LanguageTables {
  readonly supported: readonly string[];
  readonly words: Readonly<Record<string, readonly string[]>>;
}

/** The language found, and whether the classifier answers for it. */
export interface Language {
  readonly code: string;
  readonly unsupported: boolean;
}

const FEW_WORDS = 4;
const LOOKED_AT = 120;

/** Built once from catalogs/classify/languages.json. */
export class Languages {
  readonly #codes: readonly string[];
  readonly #supported: number;
  readonly #weights = new Map<string, Int16Array>();
  readonly #counts: Int32Array;

  constructor(tables: LanguageTables) {
    const others = Object.keys(tables.words).filter((code) => !tables.supported.includes(code));
    this.#codes = [...tables.supported, ...others];
    this.#supported = tables.supported.length;
    this.#counts = new Int32Array(this.#codes.length);
    this.#codes.forEach((code, at) => {
      for (const word of tables.words[code] ?? []) {
        const row = this.#weights.get(word) ?? new Int16Array(this.#codes.length);
        row[at] = 1;
        this.#weights.set(word, row);
      }
    });
    // A word of one language says more than a word of six.
    for (const row of this.#weights.values()) {
      const owners = row.reduce((sum, one) => sum + one, 0);
      for (let k = 0; k < row.length; k++) if (row[k] === 1) row[k] = Math.floor(60 / owners);
    }
  }

  /** `known` counts the words that the vocabulary has; `foreign_milli` letters of other scripts. */
  detect(tokens: Tokens, known: number, foreign_milli: number): Language {
    if (foreign_milli > 400) return { code: 'und', unsupported: true };
    const counts = this.#counts.fill(0);
    const looked = Math.min(tokens.words.length, LOOKED_AT);
    for (let k = 0; k < looked; k++) {
      const row = this.#weights.get(tokens.words[k] ?? '');
      if (row !== undefined)
        for (let c = 0; c < row.length; c++) counts[c] = (counts[c] ?? 0) + (row[c] ?? 0);
    }
    let best = 0;
    for (let c = 1; c < counts.length; c++) if ((counts[c] ?? 0) > (counts[best] ?? 0)) best = c;
    const code = this.#codes[best] ?? 'und';
    const score = counts[best] ?? 0;
    if (best >= this.#supported && score > 60) return { code, unsupported: true };
    if (score < 30 && tokens.words.length >= FEW_WORDS && known * 10 < tokens.words.length * 4) {
      return { code: 'und', unsupported: true };
    }
    return { code: best < this.#supported ? code : 'en', unsupported: false };
  }
}
