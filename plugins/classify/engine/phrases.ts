// Phrases of word classes, found by their first two words. All in rows of numbers: every pair of words of a text is looked up,
// nearly always in vain.

/** Binary logarithm of the bits of the filter: few of them are set. */
const FILTER_BITS = 16;

function pairHash(first: number, second: number): number {
  return Math.imul(first, 0x85ebca6b) ^ Math.imul(second, 0x9e3779b1);
}

interface Phrase {
  readonly ids: readonly number[];
  readonly cls: number;
}

/** Phrases of two and more words. */
export class Phrases {
  /** By first word, then by second. */
  readonly #added = new Map<number, Map<number, Phrase[]>>();
  /** A bit is set where a phrase may begin with the pair of words filed there: asked before the larger tables. */
  readonly #filter = new Int32Array(2 ** (FILTER_BITS - 5));
  /** Places in the row, 0 for none, by pair of words. */
  #slots = new Uint16Array(1);
  #shift = 31;
  /** For each pair its words and the number of its phrases, then of each its class, its length and its further words. */
  #row = new Int32Array(0);
  #longest = 0;

  /** Adds a phrase of two words or more. */
  add(ids: readonly number[], cls: number): void {
    const [first = -1, second = -1] = ids;
    const bySecond = this.#added.get(first) ?? new Map<number, Phrase[]>();
    this.#added.set(first, bySecond);
    bySecond.set(second, [...(bySecond.get(second) ?? []), { ids, cls }]);
  }

  /** The phrases that begin with a word. */
  *startingWith(first: number): Generator<Phrase> {
    for (const list of this.#added.get(first)?.values() ?? []) yield* list;
  }

  /** The most phrases that begin with one pair of words. */
  get longest(): number {
    return this.#longest;
  }

  /** To be called once, when every phrase is added. */
  seal(): void {
    const pairs = [...this.#added.values()].reduce((all, { size }) => all + size, 0);
    const bits = Math.ceil(Math.log2(pairs * 3 + 2));
    this.#slots = new Uint16Array(2 ** bits);
    this.#shift = 32 - bits;
    const row = [0];
    for (const [first, bySecond] of this.#added) {
      for (const [second, list] of bySecond) {
        const hash = pairHash(first, second);
        const bit = hash >>> (32 - FILTER_BITS);
        this.#filter[bit >> 5] = (this.#filter[bit >> 5] ?? 0) | (1 << (bit & 31));
        let slot = hash >>> this.#shift;
        while (this.#slots[slot] !== 0) slot = (slot + 1) % this.#slots.length;
        if (row.length > 0xffff) throw new Error('too many phrases in the classes of words');
        this.#slots[slot] = row.length;
        row.push(first, second, list.length);
        this.#longest = Math.max(this.#longest, list.length);
        for (const { ids, cls } of list) row.push(cls, ids.length, ...ids.slice(2));
      }
    }
    this.#row = Int32Array.from(row);
  }

  /** Where the phrases that begin with two words are, for `matches`; 0 when there are none. */
  place(first: number, second: number): number {
    const hash = pairHash(first, second);
    const bit = hash >>> (32 - FILTER_BITS);
    if ((((this.#filter[bit >> 5] ?? 0) >>> (bit & 31)) & 1) === 0) return 0;
    const slots = this.#slots;
    const row = this.#row;
    for (let slot = hash >>> this.#shift; ; slot = (slot + 1) & (slots.length - 1)) {
      const place = slots[slot] ?? 0;
      if (place === 0 || (row[place] === first && row[place + 1] === second)) return place;
    }
  }

  /**
   * Writes class and length of each phrase that begins at `at` in the words up to `last`, of those at `place`, one after another
   * into `into`; says where they end.
   */
  matches(
    place: number,
    ids: Int32Array,
    at: number,
    last: number,
    into: Int32Array,
    from: number,
  ): number {
    const row = this.#row;
    let end = from;
    let i = place + 3;
    for (let left = row[place + 2] ?? 0; left > 0; left--) {
      const length = row[i + 1] ?? 0;
      let k = 2;
      while (k < length && ids[at + k] === row[i + k]) k++;
      if (k === length && at + length <= last) {
        into[end++] = row[i] ?? 0;
        into[end++] = length;
      }
      i += length;
    }
    return end;
  }
}
