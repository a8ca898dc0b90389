// Marks where each class of words occurs in a text. All in rows of numbers, kept from text to text.
import type { Phrases } from './phrases.ts';
import type { Stems } from './stems.ts';
import { SENTENCE } from './word-ends.ts';
import type { Tokens } from './tokens.ts';

/** A window of a text: tokens from `from` up to `to`. */
export interface Window {
  readonly from: number;
  readonly to: number;
}

/** A window, the bits of its words and classes (`bitOf`), and that of itself among the sentences of the text (`Marks.present`). */
export interface Sentence extends Window {
  readonly words: number;
  readonly classes: number;
  readonly mask: number;
}

/**
 * Where classes occur. Valid until the next text is marked: the rows are reused, and may be longer than the text, since making
 * them anew takes longer than filling them.
 */
export interface Marks {
  /** For each token the offset of its classes in `lists`. */
  readonly places: Int32Array;
  /** Lists of classes: how many numbers follow, then class id and length in tokens for each. */
  readonly lists: Int32Array;
  /** For each token, the bits of its classes (`bitOf`). */
  readonly bits: Int32Array;
  /** For each token, what its classes are to scope and models. */
  readonly kinds: Int32Array;
  /** For each class id the bits of the sentences in which it occurs: eight, so distant ones share a bit. 0 if it does not occur. */
  readonly present: Uint8Array;
  /** The same for each vocabulary id. */
  readonly words: Uint8Array;
  readonly sentences: readonly Sentence[];
  /** How many words of the text the vocabulary has. */
  readonly known: number;
}

/** One of 32 bits for an id: ids share bits, so a bit that is set proves nothing and one that is not, everything. */
export function bitOf(id: number): number {
  return 1 << (id & 31);
}

/** What a marker reads: tables that change no more. */
interface MarkedTables {
  /** For each vocabulary word the classes of the word alone. */
  readonly classes: readonly (readonly number[])[];
  readonly phrases: Phrases;
  readonly stems: Stems;
  /** For each class what it is to scope and models. */
  readonly kinds: Int32Array;
}

/** The longest sentence the rules look at as one; longer ones are cut. */
const LONGEST_SENTENCE = 48;
/** Sentences have so many bits. */
const SENTENCE_BITS = 8;
/** Numbers before a list: bits and kinds of its classes. */
const HEAD = 2;

/** Marks one text at a time. */
export class Marker {
  readonly #phrases: Phrases;
  readonly #stems: Stems;
  readonly #kindsOf: Int32Array;
  /** `Marks.lists`, before each list its bits and kinds: first those of the words, then those of the text marked last. */
  #lists: Int32Array;
  /** Where those of the text begin. */
  readonly #end: number;
  /** For each vocabulary word the offset of its list: words of the same classes share one. */
  readonly #placeOf: Uint16Array;
  /** The other rows of the text that was marked last. */
  #places = new Int32Array(0);
  #bits = new Int32Array(0);
  #kinds = new Int32Array(0);
  readonly #present: Uint8Array;
  readonly #words: Uint8Array;
  /** The known words of that text. */
  #noted = new Int32Array(0);
  #notedWords = 0;

  constructor({ classes, phrases, stems, kinds }: MarkedTables) {
    this.#phrases = phrases;
    this.#stems = stems;
    this.#kindsOf = kinds;
    this.#present = new Uint8Array(kinds.length);
    this.#words = new Uint8Array(classes.length);
    const lists: number[] = [];
    const filed = new Map<string, number>();
    this.#placeOf = Uint16Array.from(classes, (own) => {
      const known = filed.get(own.join());
      if (known !== undefined) return known;
      lists.push(
        bitsOf(own),
        own.reduce((all, cls) => all | (kinds[cls] ?? 0), 0),
      );
      const place = lists.push(own.length * 2) - 1;
      if (place > 0xffff) throw new Error('too many sets of classes');
      for (const cls of own) lists.push(cls, 1);
      filed.set(own.join(), place);
      return place;
    });
    this.#lists = Int32Array.from(lists);
    this.#end = lists.length;
  }

  /** Finds every class at every word, and the sentences. */
  mark(tokens: Tokens): Marks {
    const { ids, breaks } = tokens;
    const n = tokens.words.length;
    this.#empty(n);
    const places = this.#places;
    const bits = this.#bits;
    const kinds = this.#kinds;
    const present = this.#present;
    const words = this.#words;
    const placeOf = this.#placeOf;
    const noted = this.#noted;
    const phrases = this.#phrases;
    const sentences: Sentence[] = [];
    let from = 0;
    let mask = 1;
    let wordBits = 0;
    let classBits = 0;
    let known = 0;
    let end = this.#end;
    let id = ids[0] ?? -1;
    for (let at = 0; at < n; at++) {
      const next = at + 1 < n ? (ids[at + 1] ?? -1) : -1;
      let place: number;
      if (id >= 0) {
        words[id] = (words[id] ?? 0) | mask;
        wordBits |= bitOf(id);
        noted[known++] = id;
        place = placeOf[id] ?? 0;
        const found = phrases.place(id, next);
        if (found !== 0) {
          const behind = this.#withPhrases(place, found, tokens, at, end);
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
      for (let k = place + 1; k < last; k += 2) {
        const cls = lists[k] ?? 0;
        present[cls] = (present[cls] ?? 0) | mask;
      }
      places[at] = place;
      classBits |= bits[at] = lists[place - HEAD] ?? 0;
      kinds[at] = lists[place - HEAD + 1] ?? 0;
      id = next;
      const to = at + 1;
      if (to === n || breaks[to] === SENTENCE || to - from >= LONGEST_SENTENCE) {
        sentences.push({ from, to, words: wordBits, classes: classBits, mask });
        from = to;
        mask = 1 << (sentences.length % SENTENCE_BITS);
        wordBits = classBits = 0;
      }
    }
    this.#notedWords = known;
    return { places, lists: this.#lists, bits, kinds, present, words, sentences, known };
  }

  /** Writes the list of a word with phrases behind it at `end`; returns where it ends, which is `end` if no phrase begins there. */
  #withPhrases(
    place: number,
    found: number,
    { words, ids }: Tokens,
    at: number,
    end: number,
  ): number {
    const own = this.#lists[place] ?? 0;
    this.#reserve(end + HEAD + 1 + own + this.#phrases.longest * 2);
    const lists = this.#lists;
    const from = end + HEAD + 1 + own;
    const to = this.#phrases.matches(found, ids, at, words.length, lists, from);
    if (to === from) return end;
    lists.copyWithin(end, place - HEAD, place + 1 + own);
    lists[end + HEAD] = to - end - HEAD - 1;
    for (let k = from; k < to; k += 2) this.#note(end, lists[k] ?? 0);
    return to;
  }

  /** Writes the list of an unknown word at `end`; says where it ends. */
  #withStems(word: string, end: number): number {
    const classes = this.#stems.classesOf(word);
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
    for (let k = 0; k < this.#notedWords; k++) this.#words[this.#noted[k] ?? 0] = 0;
    if (this.#places.length < n) {
      this.#places = new Int32Array(n * 2);
      this.#bits = new Int32Array(n * 2);
      this.#kinds = new Int32Array(n * 2);
      this.#noted = new Int32Array(n * 2);
    }
    this.#notedWords = 0;
    this.#present.fill(0);
  }
}

function bitsOf(classes: readonly number[]): number {
  return classes.reduce((bits, cls) => bits | bitOf(cls), 0);
}
