// Word classes: named sets of words and phrases, from catalogs/classify/lexicon. Marks where each class stands in a text.
import { tokenise } from './tokens.ts';
import type { Tokens } from './tokens.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Where classes stand: `at(token)` gives pairs class id, end token (exclusive), flattened. */
export interface Marks {
  readonly spans: (readonly number[] | undefined)[];
  /** For each class id, true when it stands anywhere in the text. */
  readonly present: Uint8Array;
  /** A bit for each vocabulary id that stands in the text. */
  readonly words: Uint8Array;
}

interface Phrase {
  readonly ids: readonly number[];
  readonly cls: number;
}

/** Classes by name; entries ending in `*` match every known or unknown word with that beginning. */
export class Lexicon {
  readonly #vocabulary: Vocabulary;
  readonly #names = new Map<string, number>();
  #single: (number[] | undefined)[] = [];
  /** By first word, then by second. */
  #phrases: (Map<number, Phrase[]> | undefined)[] = [];
  readonly #stems = new Map<string, number[]>();
  #shortestStem = 99;
  #longestStem = 0;

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
  }

  get size(): number {
    return this.#names.size;
  }

  /** The id of a class, made when it is new. */
  cls(name: string): number {
    let id = this.#names.get(name);
    if (id === undefined) {
      id = this.#names.size;
      this.#names.set(name, id);
    }
    return id;
  }

  /** The id of a class that must exist; a misspelt name in a rule fails at the start. */
  known(name: string): number {
    const id = this.#names.get(name);
    if (id === undefined) throw new Error(`classifier rules name an unknown class: @${name}`);
    return id;
  }

  /** Adds an entry to a class: a word, a phrase, or a stem with `*` at its end. */
  add(name: string, entry: string): void {
    const cls = this.cls(name);
    if (entry.endsWith('*')) {
      const stem = entry.slice(0, -1);
      push(this.#stems, stem, cls);
      this.#shortestStem = Math.min(this.#shortestStem, stem.length);
      this.#longestStem = Math.max(this.#longestStem, stem.length);
      return;
    }
    const ids = this.wordsOf(entry).map((word) => this.#vocabulary.add(word));
    const first = ids[0];
    if (first === undefined) throw new Error(`classifier class @${name} has an empty entry`);
    if (ids.length === 1) (this.#single[first] ??= []).push(cls);
    else {
      const second = (this.#phrases[first] ??= new Map<number, Phrase[]>());
      const phrase = { ids, cls };
      const list = second.get(ids[1] ?? -1);
      if (list === undefined) second.set(ids[1] ?? -1, [phrase]);
      else list.push(phrase);
    }
  }

  /** The words of an entry, cut as texts are cut. */
  wordsOf(entry: string): readonly string[] {
    return tokenise(entry, this.#vocabulary).words;
  }

  /** Spreads the stems over the words known by now; call once, when all tables are read. */
  seal(): void {
    // Dense from here on: holes make lookups slow.
    const { size } = this.#vocabulary;
    this.#single = Array.from({ length: size }, (_hole, id) => this.#single[id]);
    this.#phrases = Array.from({ length: size }, (_hole, id) => this.#phrases[id]);
    this.#vocabulary.words.forEach((word, id) => {
      const found = this.#byStem(word);
      if (found === undefined) return;
      const own = (this.#single[id] ??= []);
      for (const cls of found) if (!own.includes(cls)) own.push(cls);
    });
  }

  #byStem(word: string): number[] | undefined {
    let found: number[] | undefined;
    const longest = Math.min(word.length, this.#longestStem);
    for (let n = this.#shortestStem; n <= longest; n++) {
      const classes = this.#stems.get(word.slice(0, n));
      if (classes !== undefined)
        found = found === undefined ? [...classes] : [...found, ...classes];
    }
    return found;
  }

  /** Single-word classes of a vocabulary id. */
  classesOf(id: number): readonly number[] | undefined {
    return this.#single[id];
  }

  /** The single words of a class. */
  wordsIn(name: string): string[] {
    const cls = this.known(name);
    return this.#vocabulary.words.filter((_word, id) => this.#single[id]?.includes(cls) === true);
  }

  /** Finds every class at every word. */
  mark(tokens: Tokens): Marks {
    const n = tokens.words.length;
    const spans = new Array<readonly number[] | undefined>(n);
    const present = new Uint8Array(this.#names.size);
    for (let at = 0; at < n; at++) {
      const id = tokens.ids[at] ?? -1;
      const own = id >= 0 ? this.#single[id] : this.#byStem(tokens.words[at] ?? '');
      const phrases = id >= 0 ? this.#phrases[id]?.get(tokens.ids[at + 1] ?? -1) : undefined;
      if (own === undefined && phrases === undefined) continue;
      const here: number[] = [];
      if (own !== undefined) for (const cls of own) here.push(cls, at + 1);
      if (phrases !== undefined) {
        for (const phrase of phrases) {
          if (matches(tokens.ids, at, phrase.ids)) here.push(phrase.cls, at + phrase.ids.length);
        }
      }
      for (let k = 0; k < here.length; k += 2) present[here[k] ?? 0] = 1;
      if (here.length > 0) spans[at] = here;
    }
    return { spans, present, words: bitsOf(tokens.ids, this.#vocabulary.size) };
  }
}

function bitsOf(ids: readonly number[], size: number): Uint8Array {
  const bits = new Uint8Array((size >> 3) + 1);
  for (const id of ids) if (id >= 0) bits[id >> 3] = (bits[id >> 3] ?? 0) | (1 << (id & 7));
  return bits;
}

function matches(ids: readonly number[], at: number, phrase: readonly number[]): boolean {
  for (let k = 2; k < phrase.length; k++) if (ids[at + k] !== phrase[k]) return false;
  return true;
}

function push<K>(map: Map<K, number[]>, key: K, value: number): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
