// The running heads of all chains, by skey, in flat arrays: a monitor holds millions. log/FORMAT.md §3.

import type { Head } from '../types.ts';

const HASH = 32;
/** skey, count, last_index, last_ms, last_leaf_hash: 32 + 3 · 8 + 32. */
export const ROW_BYTES = 88;
const CHUNK_BITS = 14;
const CHUNK = 1 << CHUNK_BITS;

/** One block of rows; blocks are added, never moved. */
interface Chunk {
  readonly skeys: Uint8Array;
  readonly numbers: Float64Array;
  readonly leafHashes: Uint8Array;
}

/** Heads by slot; a slot is the order of first appearance and stays. */
export class HeadTable {
  readonly #chunks: Chunk[] = [];
  #size = 0;
  /** Open addressing; slot + 1, or 0 for a free place. At most half full. */
  #places = new Int32Array(1024);

  get size(): number {
    return this.#size;
  }

  /** The slot of a skey, or -1. */
  find(skey: Uint8Array): number {
    return this.#places[this.#place(skey)]! - 1;
  }

  /** The slot of a skey, a new one with count 0 when it has none. */
  slot(skey: Uint8Array): number {
    const place = this.#place(skey);
    const found = this.#places[place]! - 1;
    return found >= 0 ? found : this.#add(skey, place);
  }

  skey(slot: number): Uint8Array {
    const at = (slot & (CHUNK - 1)) * HASH;
    return this.#chunk(slot).skeys.subarray(at, at + HASH);
  }

  head(slot: number): Head {
    const at = slot & (CHUNK - 1);
    const { numbers, leafHashes } = this.#chunk(slot);
    return {
      count: numbers[3 * at]!,
      last_index: numbers[3 * at + 1]!,
      last_ms: numbers[3 * at + 2]!,
      last_leaf_hash: leafHashes.subarray(at * HASH, (at + 1) * HASH),
    };
  }

  set(slot: number, head: Head): void {
    const at = slot & (CHUNK - 1);
    const { numbers, leafHashes } = this.#chunk(slot);
    numbers[3 * at] = head.count;
    numbers[3 * at + 1] = head.last_index;
    numbers[3 * at + 2] = head.last_ms;
    leafHashes.set(head.last_leaf_hash, at * HASH);
  }

  /** All rows of ROW_BYTES, numbers as big-endian doubles; `load` reads them back. */
  dump(): Uint8Array {
    const bytes = new Uint8Array(this.#size * ROW_BYTES);
    const view = new DataView(bytes.buffer);
    for (let slot = 0, at = 0; slot < this.#size; slot++, at += ROW_BYTES) {
      const head = this.head(slot);
      bytes.set(this.skey(slot), at);
      view.setFloat64(at + 32, head.count);
      view.setFloat64(at + 40, head.last_index);
      view.setFloat64(at + 48, head.last_ms);
      bytes.set(head.last_leaf_hash, at + 56);
    }
    return bytes;
  }

  static load(bytes: Uint8Array): HeadTable {
    const table = new HeadTable();
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = 0; at + ROW_BYTES <= bytes.length; at += ROW_BYTES) {
      table.set(table.slot(bytes.subarray(at, at + HASH)), {
        count: view.getFloat64(at + 32),
        last_index: view.getFloat64(at + 40),
        last_ms: view.getFloat64(at + 48),
        last_leaf_hash: bytes.subarray(at + 56, at + 88),
      });
    }
    return table;
  }

  #add(skey: Uint8Array, place: number): number {
    const slot = this.#size;
    if (slot >> CHUNK_BITS === this.#chunks.length) {
      this.#chunks.push({
        skeys: new Uint8Array(CHUNK * HASH),
        numbers: new Float64Array(CHUNK * 3),
        leafHashes: new Uint8Array(CHUNK * HASH),
      });
    }
    this.#chunk(slot).skeys.set(skey, (slot & (CHUNK - 1)) * HASH);
    this.#size += 1;
    this.#places[place] = slot + 1;
    if (this.#size * 2 > this.#places.length) this.#grow();
    return slot;
  }

  #grow(): void {
    this.#places = new Int32Array(this.#places.length * 2);
    for (let slot = 0; slot < this.#size; slot++) {
      this.#places[this.#place(this.skey(slot))] = slot + 1;
    }
  }

  /** Where the skey stands or would stand. Its own bits are the hash: it comes from SHA-256. */
  #place(skey: Uint8Array): number {
    const mask = this.#places.length - 1;
    const start = (skey[0]! | (skey[1]! << 8) | (skey[2]! << 16) | (skey[3]! << 24)) & mask;
    for (let place = start; ; place = (place + 1) & mask) {
      const slot = this.#places[place]! - 1;
      if (slot < 0 || this.#has(slot, skey)) return place;
    }
  }

  #has(slot: number, skey: Uint8Array): boolean {
    const { skeys } = this.#chunk(slot);
    const at = (slot & (CHUNK - 1)) * HASH;
    for (let i = 0; i < HASH; i++) if (skeys[at + i] !== skey[i]) return false;
    return true;
  }

  #chunk(slot: number): Chunk {
    return this.#chunks[slot >> CHUNK_BITS]!;
  }
}
