// Fixed-size records in typed arrays: the nodes of a trie without one JavaScript object for each.
// Grows by whole chunks, so that growing never copies what is there; freed records are used again.

const CHUNK_SHIFT = 14;
const CHUNK_MASK = (1 << CHUNK_SHIFT) - 1;
const NONE = -1;

/** Records in one chunk. */
export const CHUNK_RECORDS = 1 << CHUNK_SHIFT;

/** A growing list of records of `words` 32-bit words each, named by their number from 0. */
export class Records {
  readonly words: number;
  #chunks: Int32Array[] = [];
  #bytes: Uint8Array[] = [];
  #length = 0;
  /** Head of the list of freed records, linked through their first word. */
  #free = NONE;
  #freed = 0;

  constructor(words: number) {
    this.words = words;
  }

  /** How many records were ever taken: numbers are below it. */
  get length(): number {
    return this.#length;
  }

  /** How many records are in use. */
  get used(): number {
    return this.#length - this.#freed;
  }

  /** Bytes held, freed records and the rest of the last chunk included. */
  get byteLength(): number {
    return this.#chunks.length * CHUNK_RECORDS * this.words * 4;
  }

  /** A record to fill; its content is whatever stood there. */
  take(): number {
    if (this.#free !== NONE) {
      const n = this.#free;
      this.#free = this.get(n, 0);
      this.#freed--;
      return n;
    }
    if (this.#length === this.#chunks.length * CHUNK_RECORDS) this.#grow();
    return this.#length++;
  }

  /** Gives a record back. Nothing may name it any more. */
  free(n: number): void {
    this.set(n, 0, this.#free);
    this.#free = n;
    this.#freed++;
  }

  get(n: number, word: number): number {
    return this.chunk(n)[this.offset(n) + word]!;
  }

  set(n: number, word: number, value: number): void {
    this.chunk(n)[this.offset(n) + word] = value;
  }

  /** The words that hold record n, from offset(n) on. */
  chunk(n: number): Int32Array {
    return this.#chunks[n >> CHUNK_SHIFT]!;
  }

  /** Where record n begins in its chunk, in words. */
  offset(n: number): number {
    return (n & CHUNK_MASK) * this.words;
  }

  /** The same memory as chunk(n), by bytes. */
  chunkBytes(n: number): Uint8Array {
    return this.#bytes[n >> CHUNK_SHIFT]!;
  }

  /** Where record n begins in its chunk, in bytes. */
  byteOffset(n: number): number {
    return this.offset(n) * 4;
  }

  /** Makes one record equal to another. */
  copy(from: number, to: number): void {
    const source = this.chunk(from);
    const target = this.chunk(to);
    const a = this.offset(from);
    const b = this.offset(to);
    for (let i = 0; i < this.words; i++) target[b + i] = source[a + i]!;
  }

  /** Appends `count` records whose content `fill` writes, chunk by chunk, in order. */
  load(count: number, fill: (bytes: Uint8Array) => void): void {
    if (this.#length !== 0) throw new Error('records are loaded into an empty list only');
    for (let n = 0; n < count; n += CHUNK_RECORDS) {
      this.#grow();
      fill(this.chunkBytes(n).subarray(0, Math.min(CHUNK_RECORDS, count - n) * this.words * 4));
    }
    this.#length = count;
  }

  #grow(): void {
    const chunk = new Int32Array(CHUNK_RECORDS * this.words);
    this.#chunks.push(chunk);
    this.#bytes.push(new Uint8Array(chunk.buffer));
  }
}
