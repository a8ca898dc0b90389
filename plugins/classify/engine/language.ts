// Which of the four languages a text is in, by its function words; anything else is said to be unsupported.
import type { Tokens } from './tokens.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Function words by language code; `supported` are the four the rules and models know. */
export interface LanguageTables {
  readonly supported: readonly string[];
  readonly words: Readonly<Record<string, readonly string[]>>;
}

/** The language found, and whether the classifier answers for it. */
interface Language {
  readonly code: string;
  readonly unsupported: boolean;
}

const FEW_WORDS = 4;
const LOOKED_AT = 120;

/** Built once from catalogs/classify/languages.json. */
export class Languages {
  readonly #codes: readonly string[];
  readonly #supported: number;
  /** The sets of languages that words belong to, as pairs of language and weight; the first is empty. */
  readonly #sets: (readonly number[])[] = [[]];
  /** The number of its set for any word, and for the words of the vocabulary by id. */
  readonly #setOf = new Map<string, number>();
  readonly #byId: Uint16Array;
  /** Of the text in work the words of each set, and the weight of each language. */
  readonly #tally: Int32Array;
  readonly #counts: Int32Array;

  constructor(tables: LanguageTables, vocabulary: Vocabulary) {
    const others = Object.keys(tables.words).filter((code) => !tables.supported.includes(code));
    this.#codes = [...tables.supported, ...others];
    this.#supported = tables.supported.length;
    this.#counts = new Int32Array(this.#codes.length);
    this.#byId = new Uint16Array(vocabulary.size);
    const owners = new Map<string, Set<number>>();
    this.#codes.forEach((code, at) => {
      for (const word of tables.words[code] ?? []) {
        const own = owners.get(word) ?? new Set();
        owners.set(word, own.add(at));
      }
    });
    const filed = new Map<string, number>();
    for (const [word, codes] of owners) {
      const key = [...codes].join();
      // A word of one language says more than a word of six.
      const pairs = [...codes].flatMap((code) => [code, Math.floor(60 / codes.size)]);
      const set = filed.get(key) ?? this.#sets.push(pairs) - 1;
      filed.set(key, set);
      this.#setOf.set(word, set);
      const id = vocabulary.id(word);
      if (id >= 0) this.#byId[id] = set;
    }
    this.#tally = new Int32Array(this.#sets.length);
  }

  /** `known` counts the words that the vocabulary has; `foreign_milli` letters of other scripts. */
  detect(tokens: Tokens, known: number, foreign_milli: number): Language {
    if (foreign_milli > 400) return { code: 'und', unsupported: true };
    const counts = this.#counts.fill(0);
    // By sets first: most words of a text share a few of them.
    const tally = this.#tally.fill(0);
    const looked = Math.min(tokens.words.length, LOOKED_AT);
    for (let k = 0; k < looked; k++) {
      const id = tokens.ids[k] ?? -1;
      const set = id >= 0 ? this.#byId[id] : this.#setOf.get(tokens.words[k] ?? '');
      if (set !== undefined) tally[set] = (tally[set] ?? 0) + 1;
    }
    for (let set = 1; set < tally.length; set++) {
      const times = tally[set] ?? 0;
      const pairs = times > 0 ? this.#sets[set] : undefined;
      if (pairs === undefined) continue;
      for (let c = 0; c < pairs.length; c += 2) {
        const at = pairs[c] ?? 0;
        counts[at] = (counts[at] ?? 0) + times * (pairs[c + 1] ?? 0);
      }
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
