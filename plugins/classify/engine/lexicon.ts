// Word classes: named sets of words and phrases, from catalogs/classify/lexicon. Marks where each class stands in a text.
import { Phrases } from './phrases.ts';
import { tokenise } from './tokens.ts';
import type { Tokens } from './tokens.ts';
import type { Vocabulary } from './vocabulary.ts';

/**
 * Where classes stand. Lives until the next text is marked: the rows are reused, and may be longer than the text, since making
 * them anew takes longer than filling them.
 */
export interface Marks {
  /** For each token where its classes stand in `lists`. */
  readonly places: Int32Array;
  /** Lists of classes: how many numbers follow, then class id and length in tokens for each. */
  readonly lists: Int32Array;
  /** For each token, the bits of its classes (`bitOf`). */
  readonly bits: Int32Array;
  /** For each token, what its classes are to scope and models. */
  readonly kinds: Int32Array;
  /** For each class id, 1 when it stands anywhere in the text. */
  readonly present: Uint8Array;
  /** For each vocabulary id, 1 when it stands anywhere in the text. */
  readonly words: Uint8Array;
}

/** One of 32 bits for an id: ids share bits, so a bit that is set proves nothing and one that is not, everything. */
export function bitOf(id: number): number {
  return 1 << (id & 31);
}

/** How common a word is among others, from its id: the vocabulary begins with the commonest, and Zipf's law gives the rest. */
export function oftenness(id: number): number {
  return 1 / (id + 20);
}

/** Classes by name; entries ending in `*` match every known or unknown word with that beginning. */
export class Lexicon {
  readonly #vocabulary: Vocabulary;
  readonly #names = new Map<string, number>();
  #single: (number[] | undefined)[] = [];
  readonly #phrases = new Phrases();
  readonly #stems = new Map<string, number[]>();
  #shortestStem = 99;
  #longestStem = 0;
  #kindsOf: Int32Array = new Int32Array(0);
  #often: Float64Array = new Float64Array(0);
  /** `Marks.lists`, before each list its bits and kinds: first those of the words, then those of the text marked last. */
  #lists = new Int32Array(0);
  #sealed = 0;
  /** For each vocabulary word where its list stands: words of the same classes share one. */
  #placeOf = new Uint16Array(0);
  /** The other rows of the text that was marked last. */
  #places = new Int32Array(0);
  #bits = new Int32Array(0);
  #kinds = new Int32Array(0);
  #present = new Uint8Array(0);
  #words = new Uint8Array(0);
  #marked: readonly number[] = [];

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
    this.#kindsOf = kinds;
    const { size } = this.#vocabulary;
    this.#single.length = size;
    this.#vocabulary.words.forEach((word, id) => {
      const found = this.#byStem(word);
      if (found === undefined) return;
      const own = (this.#single[id] ??= []);
      for (const cls of found) if (!own.includes(cls)) own.push(cls);
    });
    this.#often = new Float64Array(this.#names.size);
    const count = (cls: number, often: number): void => {
      this.#often[cls] = (this.#often[cls] ?? 0) + often;
    };
    for (let id = 0; id < size; id++) {
      for (const cls of this.#single[id] ?? []) count(cls, oftenness(id));
      // A phrase stands in about one of twenty places of its first word.
      for (const { cls } of this.#phrases.startingWith(id)) count(cls, oftenness(id) / 20);
    }
    this.#phrases.seal();
    this.#fileLists(size);
  }

  #fileLists(size: number): void {
    const lists: number[] = [];
    const filed = new Map<string, number>();
    this.#placeOf = Uint16Array.from({ length: size }, (_hole, id) => {
      const own = this.#single[id] ?? [];
      const known = filed.get(own.join());
      if (known !== undefined) return known;
      lists.push(bitsOf(own), this.#kindOf(own));
      const place = lists.push(own.length * 2) - 1;
      if (place > 0xffff) throw new Error('too many sets of classes');
      for (const cls of own) lists.push(cls, 1);
      filed.set(own.join(), place);
      return place;
    });
    this.#lists = Int32Array.from(lists);
    this.#sealed = lists.length;
  }

  /** How common the words of a class are together, see `oftenness`. */
  often(cls: number): number {
    return this.#often[cls] ?? 0;
  }

  #kindOf(classes: readonly number[] | undefined): number {
    let all = 0;
    for (const cls of classes ?? []) all |= this.#kindsOf[cls] ?? 0;
    return all;
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

  /** Finds every class at every word; to be called when the tables are sealed. */
  mark(tokens: Tokens): Marks {
    const { ids } = tokens;
    const n = ids.length;
    this.#empty(n);
    const places = this.#places;
    const bits = this.#bits;
    const kinds = this.#kinds;
    const present = this.#present;
    const words = this.#words;
    const placeOf = this.#placeOf;
    const phrases = this.#phrases;
    let end = this.#sealed;
    let id = ids[0] ?? -1;
    for (let at = 0; at < n; at++) {
      const next = at + 1 < n ? (ids[at + 1] ?? -1) : -1;
      let place: number;
      if (id >= 0) {
        words[id] = 1;
        place = placeOf[id] ?? 0;
        const found = phrases.place(id, next);
        if (found !== 0) {
          const behind = this.#withPhrases(place, found, ids, at, end);
          if (behind > end) {
            place = end + HEAD;
            end = behind;
          }
        }
      } else {
        place = end + HEAD;
        end = this.#withStems(tokens.words[at] ?? '', end);
      }
      const lists = this.#lists;
      const last = place + (lists[place] ?? 0);
      for (let k = place + 1; k < last; k += 2) present[lists[k] ?? 0] = 1;
      places[at] = place;
      bits[at] = lists[place - HEAD] ?? 0;
      kinds[at] = lists[place - HEAD + 1] ?? 0;
      id = next;
    }
    this.#marked = ids;
    return { places, lists: this.#lists, bits, kinds, present, words };
  }

  /** Writes the list of a word with phrases behind it at `end`; says where it ends, `end` when no phrase stands there. */
  #withPhrases(
    place: number,
    found: number,
    ids: readonly number[],
    at: number,
    end: number,
  ): number {
    const own = this.#lists[place] ?? 0;
    this.#reserve(end + HEAD + 1 + own + this.#phrases.longest * 2);
    const lists = this.#lists;
    const from = end + HEAD + 1 + own;
    const to = this.#phrases.matches(found, ids, at, lists, from);
    if (to === from) return end;
    lists.copyWithin(end, place - HEAD, place + 1 + own);
    lists[end + HEAD] = to - end - HEAD - 1;
    for (let k = from; k < to; k += 2) this.#note(end, lists[k] ?? 0);
    return to;
  }

  /** Writes the list of an unknown word at `end`; says where it ends. */
  #withStems(word: string, end: number): number {
    const classes = this.#byStem(word) ?? [];
    this.#reserve(end + HEAD + 1 + classes.length * 2);
    const lists = this.#lists;
    lists[end] = lists[end + 1] = 0;
    let to = end + HEAD;
    lists[to++] = classes.length * 2;
    for (const cls of classes) {
      lists[to++] = cls;
      lists[to++] = 1;
      this.#note(end, cls);
    }
    return to;
  }

  /** Adds bits and kinds of a class to the head of the list at `end`. */
  #note(end: number, cls: number): void {
    const lists = this.#lists;
    lists[end] = (lists[end] ?? 0) | bitOf(cls);
    lists[end + 1] = (lists[end + 1] ?? 0) | (this.#kindsOf[cls] ?? 0);
  }

  #reserve(length: number): void {
    if (length <= this.#lists.length) return;
    const longer = new Int32Array(length * 2);
    longer.set(this.#lists);
    this.#lists = longer;
  }

  /** Empties the rows for a text of `n` words. */
  #empty(n: number): void {
    if (this.#words.length < this.#vocabulary.size) {
      this.#words = new Uint8Array(this.#vocabulary.size);
    } else {
      const words = this.#words;
      for (const id of this.#marked) if (id >= 0) words[id] = 0;
    }
    if (this.#places.length < n) {
      this.#places = new Int32Array(n * 2);
      this.#bits = new Int32Array(n * 2);
      this.#kinds = new Int32Array(n * 2);
    }
    if (this.#present.length < this.#names.size) this.#present = new Uint8Array(this.#names.size);
    this.#present.fill(0);
  }
}

/** Numbers before a list: bits and kinds of its classes. */
const HEAD = 2;

function bitsOf(classes: readonly number[] | undefined): number {
  return (classes ?? []).reduce((bits, cls) => bits | bitOf(cls), 0);
}

function push<K>(map: Map<K, number[]>, key: K, value: number): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
