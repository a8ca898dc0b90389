// Word classes: named sets of words and phrases, from catalogs/classify/lexicon. Marks where each class stands in a text.
import { tokenise } from './tokens.ts';
import type { Tokens } from './tokens.ts';
import type { Vocabulary } from './vocabulary.ts';

/**
 * Where classes stand. Lives until the next text is marked: the rows are reused, and may be longer than the text, since making
 * them anew takes longer than filling them.
 */
export interface Marks {
  /** For each token, pairs of class id and length in tokens, flattened. */
  readonly spans: (readonly number[] | undefined)[];
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

/** Binary logarithm of the places for pairs of words: few of them hold a pair of another phrase's. */
const PAIR_BITS = 15;

function pairAt(first: number, second: number): number {
  return (Math.imul(first, 0x85ebca6b) ^ Math.imul(second, 0x9e3779b1)) >>> (32 - PAIR_BITS);
}

/** How common a word is among others, from its id: the vocabulary begins with the commonest, and Zipf's law gives the rest. */
export function oftenness(id: number): number {
  return 1 / (id + 20);
}

interface Phrase {
  readonly ids: readonly number[];
  readonly cls: number;
}

const NONE: readonly Phrase[] = [];

/** Classes by name; entries ending in `*` match every known or unknown word with that beginning. */
export class Lexicon {
  readonly #vocabulary: Vocabulary;
  readonly #names = new Map<string, number>();
  #single: (number[] | undefined)[] = [];
  /** The same as `Marks.spans` has it, and in pairs as `Marks.bits` and `Marks.kinds` do. */
  #spans: (readonly number[] | undefined)[] = [];
  #rows = new Int32Array(0);
  #kindsOf: Int32Array = new Int32Array(0);
  /** The rows of the text that was marked last. */
  #textBits = new Int32Array(0);
  #textKinds = new Int32Array(0);
  #present = new Uint8Array(0);
  /** 1 where a phrase may begin with the pair of words filed here: asked before the larger tables. */
  readonly #pairs = new Uint8Array(2 ** PAIR_BITS);
  /** By first word, then by second. */
  #phrases: (Map<number, Phrase[]> | undefined)[] = [];
  readonly #stems = new Map<string, number[]>();
  #shortestStem = 99;
  #longestStem = 0;
  #often: Float64Array = new Float64Array(0);
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
    else {
      this.#pairs[pairAt(first, ids[1] ?? -1)] = 1;
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

  /**
   * Spreads the stems over the words known by now; call once, when all tables are read. `kinds` says of each class what it is
   * to scope and models.
   */
  seal(kinds: Int32Array): void {
    this.#kindsOf = kinds;
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
    this.#spans = this.#single.map((own) => own?.flatMap((cls) => [cls, 1]));
    this.#often = new Float64Array(this.#names.size);
    this.#single.forEach((own, id) => {
      const count = (cls: number, often: number): void => {
        this.#often[cls] = (this.#often[cls] ?? 0) + often;
      };
      for (const cls of own ?? []) count(cls, oftenness(id));
      // A phrase stands in about one of twenty places of its first word.
      for (const phrases of this.#phrases[id]?.values() ?? [])
        for (const { cls } of phrases) count(cls, oftenness(id) / 20);
    });
    this.#rows = Int32Array.from(this.#single.flatMap((own) => [bitsOf(own), this.#kindOf(own)]));
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

  /** Finds every class at every word. */
  mark(tokens: Tokens): Marks {
    const { ids } = tokens;
    const n = ids.length;
    const words = this.#fresh(ids);
    const bits = this.#textBits;
    const kinds = this.#textKinds;
    const present = this.#present;
    const pairs = this.#pairs;
    const sealed = this.#spans;
    const rows = this.#rows;
    const spans = new Array<readonly number[] | undefined>(n).fill(undefined);
    let id = ids[0] ?? -1;
    for (let at = 0; at < n; at++) {
      const next = at + 1 < n ? (ids[at + 1] ?? -1) : -1;
      let own: readonly number[] | undefined;
      let mask: number;
      let kind: number;
      if (id >= 0 && id < sealed.length) {
        mask = rows[id * 2] ?? 0;
        kind = rows[id * 2 + 1] ?? 0;
        if (mask !== 0) own = sealed[id];
      } else {
        const single = id >= 0 ? this.#single[id] : this.#byStem(tokens.words[at] ?? '');
        own = single?.flatMap((cls) => [cls, 1]);
        mask = bitsOf(single);
        kind = this.#kindOf(single);
      }
      if (id >= 0 && pairs[pairAt(id, next)] === 1) {
        for (const phrase of this.#phrases[id]?.get(next) ?? NONE) {
          if (!matches(ids, at, phrase.ids)) continue;
          own = [...(own ?? []), phrase.cls, phrase.ids.length];
          mask |= bitOf(phrase.cls);
          kind |= this.#kindsOf[phrase.cls] ?? 0;
        }
      }
      if (own !== undefined) {
        for (let k = 0; k < own.length; k += 2) present[own[k] ?? 0] = 1;
        spans[at] = own;
      }
      bits[at] = mask;
      kinds[at] = kind;
      id = next;
    }
    return { spans, bits, kinds, present, words };
  }

  /** Empties the rows for a text; gives the row for all words of the vocabulary, in which those of `ids` are 1. */
  #fresh(ids: readonly number[]): Uint8Array {
    if (this.#words.length < this.#vocabulary.size) {
      this.#words = new Uint8Array(this.#vocabulary.size);
    } else {
      for (const id of this.#marked) if (id >= 0) this.#words[id] = 0;
    }
    for (const id of ids) if (id >= 0) this.#words[id] = 1;
    this.#marked = ids;
    if (this.#textBits.length < ids.length) {
      this.#textBits = new Int32Array(ids.length * 2);
      this.#textKinds = new Int32Array(ids.length * 2);
    }
    if (this.#present.length < this.#names.size) this.#present = new Uint8Array(this.#names.size);
    this.#present.fill(0);
    return this.#words;
  }
}

function bitsOf(classes: readonly number[] | undefined): number {
  return (classes ?? []).reduce((bits, cls) => bits | bitOf(cls), 0);
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
