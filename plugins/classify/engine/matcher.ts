// Runs patterns over windows of a text as sets of reachable positions: no backtracking, time = pattern length x window length.
// All patterns are in one array of numbers: a text needs a dozen of them, and as objects they would be scattered over the heap.
import { bitOf } from './marks.ts';
import type { Marks } from './marks.ts';
import { GAP, MATCH, START } from './patterns.ts';
import type { Pattern } from './patterns.ts';
import type { Window } from './marks.ts';
import type { Tokens } from './tokens.ts';

/** Windows are at most this many tokens. */
const WIDEST = 160;

/** A step begins with its kind, whether it may be left out, and its reach, in one number. */
const KIND = 3;
const OPTIONAL = 4;
const REACH = 3;
/** Behind it a match has the bits of its words and classes, and where the sets of them are. */
const WORD_BITS = 1;
const CLASS_BITS = 2;
const WORDS = 3;
const CLASSES = 4;
const MATCH_LENGTH = 5;

/** Patterns that are searched for; one text at a time. */
export class Matcher {
  readonly #written: number[] = [];
  readonly #places = new Map<Pattern, number>();
  #row = new Int32Array(0);
  /** The sets of words and classes, apart from the steps so that the steps of a pattern are contiguous; each is stored once. */
  readonly #writtenSets: number[] = [];
  readonly #setPlaces = new Map<string, number>();
  #sets = new Int32Array(0);
  /** Two rows of positions and the part of them in use, reused from call to call. */
  #reached = new Int32Array(WIDEST + 2);
  #next = new Int32Array(WIDEST + 2);
  #lo = 0;
  #hi = 0;

  /** Files a pattern once; gives its place. */
  add(pattern: Pattern): number {
    const known = this.#places.get(pattern);
    if (known !== undefined) return known;
    const written = this.#written;
    const place = written.length;
    this.#places.set(pattern, place);
    written.push(pattern.steps.length);
    for (const { kind, words, classes, wordBits, classBits, optional, reach } of pattern.steps) {
      written.push(kind | (optional ? OPTIONAL : 0) | (reach << REACH));
      if (kind !== MATCH) continue;
      written.push(wordBits, classBits, this.#fileSet(words), this.#fileSet(classes));
    }
    return place;
  }

  #fileSet(ids: readonly number[]): number {
    const known = this.#setPlaces.get(ids.join());
    if (known !== undefined) return known;
    const place = this.#writtenSets.length;
    this.#writtenSets.push(...setOf(ids));
    this.#setPlaces.set(ids.join(), place);
    return place;
  }

  /** To be called once, when every pattern is filed. */
  seal(): void {
    this.#row = Int32Array.from(this.#written);
    this.#sets = Int32Array.from(this.#writtenSets);
  }

  /** The first span, as [from, to), where the pattern at `place` matches inside the window. */
  find(place: number, tokens: Tokens, marks: Marks, window: Window): Window | undefined {
    const row = this.#row;
    const { from } = window;
    const last = window.to - from;
    const steps = row[place] ?? 0;
    // reached[p] is the beginning of a partial match that ends before token from+p, or -1; read from `lo` to `hi` only.
    this.#lo = 0;
    this.#hi = last;
    let at = place + 1;
    // Most texts have few of the words with which a match begins: the text before the first of them is skipped.
    if (((row[at] ?? 0) & (KIND | OPTIONAL)) === MATCH) {
      this.#lo = this.#seek(at, tokens, marks, from, last);
      if (this.#lo === last) return undefined;
    }
    for (let p = this.#lo; p <= last; p++) this.#reached[p] = p;
    for (let k = 0; k < steps; k++) {
      const head = row[at] ?? 0;
      const kind = head & KIND;
      if (kind === MATCH) {
        if (!this.#advance(at, tokens, marks, from, last)) return undefined;
        at += MATCH_LENGTH;
      } else {
        at++;
        if (kind === GAP) this.#spread(head >> REACH, last);
        else if (kind === START) {
          this.#next[0] = 0;
          this.#lo = this.#hi = 0;
        } else {
          if (this.#hi < last || this.#reached[last] === -1) return undefined;
          this.#next[last] = this.#reached[last] ?? -1;
          this.#lo = this.#hi = last;
        }
      }
      const reached = this.#reached;
      this.#reached = this.#next;
      this.#next = reached;
    }
    for (let p = this.#lo; p <= this.#hi; p++) {
      const begin = this.#reached[p] ?? -1;
      if (begin >= 0) return { from: from + begin, to: from + p };
    }
    return undefined;
  }

  #spread(reach: number, last: number): void {
    const reached = this.#reached;
    const next = this.#next;
    const hi = this.#hi;
    const end = Math.min(last, hi + reach);
    let begin = -1;
    let left = 0;
    for (let p = this.#lo; p <= end; p++) {
      const own = p <= hi ? (reached[p] ?? -1) : -1;
      if (own >= 0) {
        begin = own;
        left = reach;
        next[p] = own;
      } else if (left > 0) {
        left--;
        next[p] = begin;
      } else next[p] = -1;
    }
    this.#hi = end;
  }

  /** The first position whose token may fit the step at `at`; `last` when there is none. */
  #seek(at: number, { ids }: Tokens, { bits }: Marks, from: number, last: number): number {
    const wordBits = this.#row[at + WORD_BITS] ?? 0;
    const classBits = this.#row[at + CLASS_BITS] ?? 0;
    for (let p = 0; p < last; p++) {
      if ((classBits & (bits[from + p] ?? 0)) !== 0) return p;
      if (wordBits === 0) continue;
      const id = ids[from + p] ?? -1;
      if (id >= 0 && (wordBits & bitOf(id)) !== 0) return p;
    }
    return last;
  }

  /** Takes one word or class of the step at `at` after each reached position; false when none is there. */
  #advance(at: number, { ids }: Tokens, marks: Marks, from: number, last: number): boolean {
    const row = this.#row;
    const reached = this.#reached;
    const next = this.#next;
    const lo = this.#lo;
    const hi = this.#hi;
    const sets = this.#sets;
    const wordBits = row[at + WORD_BITS] ?? 0;
    const classBits = row[at + CLASS_BITS] ?? 0;
    const words = row[at + WORDS] ?? 0;
    const classes = row[at + CLASSES] ?? 0;
    const { places, lists, bits } = marks;
    let filled = lo - 1; // next[] is written from lo up to here
    let least = last + 1;
    if (((row[at] ?? 0) & OPTIONAL) !== 0) {
      for (let p = lo; p <= hi; p++) next[p] = reached[p] ?? -1;
      filled = hi;
      least = lo;
    }
    const end = hi < last ? hi : last - 1;
    for (let p = lo; p <= end; p++) {
      const id = ids[from + p] ?? -1;
      const word = id >= 0 && (wordBits & bitOf(id)) !== 0 && holds(sets, words, id);
      const cls = (classBits & (bits[from + p] ?? 0)) !== 0;
      if (!word && !cls) continue;
      const begin = reached[p] ?? -1;
      if (begin < 0) continue;
      if (word) {
        while (filled <= p) next[++filled] = -1;
        if ((next[p + 1] ?? -1) < begin) next[p + 1] = begin;
        if (p + 1 < least) least = p + 1;
      }
      if (!cls) continue;
      const place = places[from + p] ?? 0;
      const behind = place + (lists[place] ?? 0);
      for (let k = place + 1; k < behind; k += 2) {
        const to = p + (lists[k + 1] ?? 0);
        if (to > last || !holds(sets, classes, lists[k] ?? -1)) continue;
        while (filled < to) next[++filled] = -1;
        // A later beginning gives the tighter span.
        if ((next[to] ?? -1) < begin) next[to] = begin;
        if (to < least) least = to;
      }
    }
    if (least > last) return false;
    this.#lo = least;
    this.#hi = filled;
    return true;
  }
}

/** A set of ids in a row: the number of its slots less one, then the slots, at least half of them free (-1). */
function setOf(ids: readonly number[]): number[] {
  const slots = new Array<number>(2 ** Math.ceil(Math.log2(ids.length * 2 + 1))).fill(-1);
  for (const id of ids) {
    let slot = slotOf(id, slots.length - 1);
    while (slots[slot] !== -1) slot = (slot + 1) & (slots.length - 1);
    slots[slot] = id;
  }
  return [slots.length - 1, ...slots];
}

function holds(sets: Int32Array, set: number, id: number): boolean {
  const mask = sets[set] ?? 0;
  for (let slot = slotOf(id, mask); ; slot = (slot + 1) & mask) {
    const found = sets[set + 1 + slot] ?? -1;
    if (found === id) return true;
    if (found === -1) return false;
  }
}

function slotOf(id: number, mask: number): number {
  return (Math.imul(id, 0x9e3779b1) >>> 16) & mask;
}
