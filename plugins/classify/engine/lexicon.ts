// Word classes: named sets of words and phrases, from catalogs/classify/lexicon.
import { Marker } from './marks.ts';
import type { Marks } from './marks.ts';
import { Phrases } from './phrases.ts';
import { Stems } from './stems.ts';
import { tokenise } from './tokens.ts';
import type { Tokens } from './tokens.ts';
import type { Vocabulary } from './vocabulary.ts';

/** How common a word is among others, from its id: the vocabulary begins with the commonest, and Zipf's law gives the rest. */
export function oftenness(id: number): number {
  return 1 / (id + 20);
}

/** Classes by name; entries ending in `*` match every known or unknown word with that beginning. */
export class Lexicon {
  readonly #vocabulary: Vocabulary;
  readonly #names = new Map<string, number>();
  /** For each vocabulary word the classes of the word alone, undefined where it has none. */
  readonly #single: (number[] | undefined)[] = [];
  readonly #phrases = new Phrases();
  readonly #stems = new Stems();
  readonly #often: number[] = [];
  #marker: Marker | undefined;

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
  }

  get size(): number {
    return this.#names.size;
  }

  /** The names of the classes, in the order of their ids. */
  get names(): readonly string[] {
    return [...this.#names.keys()];
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
      this.#stems.add(entry.slice(0, -1), cls);
      return;
    }
    const ids = this.wordsOf(entry).map((word) => this.#vocabulary.add(word));
    const first = ids[0];
    if (first === undefined) throw new Error(`classifier class @${name} has an empty entry`);
    if (ids.length === 1) (this.#single[first] ??= []).push(cls);
    else this.#phrases.add(ids, cls);
  }

  /** The words of an entry, cut as texts are cut. */
  wordsOf(entry: string): readonly string[] {
    return tokenise(entry, this.#vocabulary).words;
  }

  /**
   * Spreads the stems over the words known by now; call once, when all tables are read. `kinds` says of each class what it is
   * to scope and models.
   */
  seal(kinds: Int32Array): void {
    const often = (cls: number, more: number): void => {
      this.#often[cls] = this.often(cls) + more;
    };
    this.#vocabulary.words.forEach((word, id) => {
      const own = (this.#single[id] ??= []);
      for (const cls of this.#stems.classesOf(word)) if (!own.includes(cls)) own.push(cls);
      for (const cls of own) often(cls, oftenness(id));
      // About one of twenty occurrences of its first word begins a phrase.
      for (const { cls } of this.#phrases.startingWith(id)) often(cls, oftenness(id) / 20);
    });
    this.#phrases.seal();
    const [phrases, stems] = [this.#phrases, this.#stems];
    const classes = Array.from(this.#vocabulary.words, (_word, id) => this.#single[id] ?? []);
    this.#marker = new Marker({ classes, phrases, stems, kinds });
  }

  /** How common the words of a class are together, see `oftenness`. */
  often(cls: number): number {
    return this.#often[cls] ?? 0;
  }

  /** The single words of a class. */
  wordsIn(name: string): string[] {
    const cls = this.known(name);
    return this.#vocabulary.words.filter((_word, id) => this.#single[id]?.includes(cls) === true);
  }

  /** Finds every class at every word; only of sealed tables. */
  mark(tokens: Tokens): Marks {
    if (this.#marker === undefined) throw new Error('the tables are not sealed');
    return this.#marker.mark(tokens);
  }
}
