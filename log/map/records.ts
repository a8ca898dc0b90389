// Fixed-size records in typed arrays. The trie keeps its nodes in them, because one JavaScript object for each node
// would take several times the memory. Memory grows by whole chunks, so that growing copies nothing, and freed records
// are reused.

const CHUNK_SHIFT = 14;
const CHUNK_MASK = (1 << CHUNK_SHIFT) - 1;
const NONE = -1;

/** Records in one chunk. */
export const CHUNK_RECORDS = 1 << CHUNK_SHIFT;

/** A growing list of records of `words` 32-bit words each. Records are numbered from 0. */
export class Records {
  readonly words: number;
  #chunks: Int32Array[] = [];
  #bytes: Uint8Array[] = [];
  #length = 0;
  /** The last freed record, or NONE. The first word of each freed record is the number of the one freed before it. */
  #free = NONE;
  #freed = 0;

  constructor(words: number) {
    this.words = words;
  }

  /** One more than the highest number of a record, freed records included. */
  get length(): number {
    return this.#length;
  }

  /** How many records are in use. */
  get used(): number {
    return this.#length - this.#freed;
  }

  /** Allocated bytes, including freed records and the unused end of the last chunk. */
  get byteLength(): number {
    return this.#chunks.length * CHUNK_RECORDS * this.words * 4;
  }

  /** Allocates a record. Its content is undefined. */
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

  /** Frees a record. The caller must not use its number any more. */
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

  /** The chunk that contains record n, which begins at `offset(n)`. */
  chunk(n: number): Int32Array {
    return this.#chunks[n >> CHUNK_SHIFT]!;
  }

  /** The position of record n in its chunk, in words. */
  offset(n: number): number {
    return (n & CHUNK_MASK) * this.words;
  }

  /** The memory of `chunk(n)` as bytes. */
  chunkBytes(n: number): Uint8Array {
    return this.#bytes[n >> CHUNK_SHIFT]!;
  }

  /** The position of record n in its chunk, in bytes. */
  byteOffset(n: number): number {
    return this.offset(n) * 4;
  }

  /** Copies the content of a record to another one. */
  copy(from: number, to: number): void {
    const source = this.chunk(from);
    const target = this.chunk(to);
    const a = this.offset(from);
    const b = this.offset(to);
    for (let i = 0; i < this.words; i++) target[b + i] = source[a + i]!;
  }

  /** Adds `count` records to an empty list. `fill` writes their content, one chunk after the other. */
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
