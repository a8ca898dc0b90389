// Which of the four languages a text is in, by its function words; anything else is said to be unsupported.
import type { Tokens } from './tokens.ts';
import type { Vocabulary } from './vocabulary.ts';

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
  /** Where the languages of a word stand in `#lists`, for any word. */
  readonly #places = new Map<string, number>();
  /** The same for words of the vocabulary: words of the same languages share a list. */
  readonly #byId: Uint16Array;
  /** How many numbers follow, then pairs of language and weight. The first is empty. */
  readonly #lists: Int32Array;
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
    const lists = [0];
    const filed = new Map<string, number>();
    for (const [word, codes] of owners) {
      const key = [...codes].join();
      const place = filed.get(key) ?? lists.push(codes.size * 2) - 1;
      if (!filed.has(key)) {
        filed.set(key, place);
        // A word of one language says more than a word of six.
        for (const code of codes) lists.push(code, Math.floor(60 / codes.size));
      }
      this.#places.set(word, place);
      const id = vocabulary.id(word);
      if (id >= 0) this.#byId[id] = place;
    }
    this.#lists = Int32Array.from(lists);
  }

  /** `known` counts the words that the vocabulary has; `foreign_milli` letters of other scripts. */
  detect(tokens: Tokens, known: number, foreign_milli: number): Language {
    if (foreign_milli > 400) return { code: 'und', unsupported: true };
    const counts = this.#counts.fill(0);
    const lists = this.#lists;
    const looked = Math.min(tokens.words.length, LOOKED_AT);
    for (let k = 0; k < looked; k++) {
      const id = tokens.ids[k] ?? -1;
      const place =
        id >= 0 ? (this.#byId[id] ?? 0) : (this.#places.get(tokens.words[k] ?? '') ?? 0);
      const last = place + (lists[place] ?? 0);
      for (let c = place + 1; c < last; c += 2) {
        const at = lists[c] ?? 0;
        counts[at] = (counts[at] ?? 0) + (lists[c + 1] ?? 0);
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
