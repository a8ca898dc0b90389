// Answers lookups of rows that are not there without asking LevelDB.
//
// Such lookups are common: the head of a new chain, the row of a payment that was not bound before, the record of a new
// idempotency key. For each of them LevelDB searches one table of every level, and counts that against the first table;
// after about a hundred it rewrites the table. In a log of a million chains these rewrites cost more than all others.
//
// `AbsentKeys` therefore holds a Bloom filter (Bloom, CACM 13(7), 1970) of the keys of such rows, 11 to 22 bits for each
// key. After the first lookups that find nothing, it reads the keys of the database in the background. Until it has read
// all of them, and for good if that fails, every lookup goes to LevelDB.

import { ATTACHED_ROW, CORE_ROW, HEAD, PLUGIN_ROW } from './layout.ts';

/** The kinds of rows that are looked up where there may be none. */
const KINDS: readonly number[] = [HEAD, CORE_ROW, PLUGIN_ROW, ATTACHED_ROW];
const isKnownKind = (key: Uint8Array): boolean => KINDS.includes(key[0] ?? 0);
/** Lookups that find nothing before the keys are read: a log that is hardly used does without the filter. */
const MISSES = 8;
/** Keys that are read at a time. */
const PAGE = 1000;
/** A filter in which at least half of the keys, and at least so many, were deleted again is replaced. */
const MANY_DELETED = 1_000_000;

/** A range of keys behind `gt`. */
export interface KeyRange {
  readonly gt: Uint8Array;
  readonly lt: Uint8Array;
  readonly limit: number;
}

/** The database whose keys are known. */
export interface KeySource {
  /** The first keys of a range, as the database has them at some time during the call. */
  page(range: KeyRange): Promise<readonly Uint8Array[]>;
  /** Resolves when every batch that was given to the database before the call has succeeded or failed. */
  settled(): Promise<unknown>;
}

/** Knows keys that a database does not have. */
export class AbsentKeys {
  readonly #source: KeySource;
  readonly #many_deleted: number;
  /** Has the keys that are written from now on; null if none are collected. */
  #filter: KeyFilter | null = null;
  /** Whether the filter has all keys of the database. */
  #complete = false;
  /** Lookups that found nothing while there was no filter. */
  #misses = 0;
  /** Keys of the filter that were deleted. */
  #deleted = 0;
  #stopped = false;
  #reading: Promise<void> = Promise.resolve();

  constructor(source: KeySource, many_deleted = MANY_DELETED) {
    this.#source = source;
    this.#many_deleted = many_deleted;
  }

  /** Whether the database certainly does not have a key. False says nothing. */
  has(key: Uint8Array): boolean {
    return this.#complete && isKnownKind(key) && this.#filter?.has(key) === false;
  }

  /** Must be called for every key that is put, before its batch is given to the database. */
  written(key: Uint8Array): void {
    if (this.#filter !== null && isKnownKind(key)) this.#filter.add(key);
  }

  /** Should be called for every key that is deleted. A Bloom filter cannot forget it. */
  deleted(key: Uint8Array): void {
    if (!this.#complete || this.#filter === null || !isKnownKind(key)) return;
    this.#deleted += 1;
    if (this.#deleted >= Math.max(this.#many_deleted, this.#filter.size / 2)) this.#begin();
  }

  /** Should be called after a lookup of a key found nothing. */
  missed(key: Uint8Array): void {
    if (this.#filter !== null || this.#stopped || !isKnownKind(key)) return;
    this.#misses += 1;
    if (this.#misses >= MISSES) this.#begin();
  }

  /** Says nothing from now on. Resolves when no keys are being read. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#complete = false;
    await this.#reading;
  }

  #begin(): void {
    const filter = new KeyFilter();
    this.#filter = filter;
    this.#complete = false;
    this.#deleted = 0;
    this.#reading = this.#read(filter).catch(() => {
      this.#stopped = true;
      this.#filter = null;
    });
  }

  async #read(filter: KeyFilter): Promise<void> {
    // The filter does not get the keys of batches that were begun before it was made, and a page may lack them too.
    await this.#source.settled();
    for (const kind of KINDS) {
      const lt = Uint8Array.of(kind + 1);
      let gt = Uint8Array.of(kind);
      for (;;) {
        if (this.#stopped) return;
        const keys = await this.#source.page({ gt, lt, limit: PAGE });
        for (const key of keys) filter.add(key);
        const last = keys.at(-1);
        if (last === undefined || keys.length < PAGE) break;
        gt = Uint8Array.from(last);
        await new Promise(setImmediate);
      }
    }
    this.#complete = !this.#stopped;
  }
}

/** The bits of one block, which are in one cache line: 16 words of 32 bits. */
const BLOCK_WORDS = 16;
const BLOCK_BITS = BLOCK_WORDS * 32;
/** Keys for each block when a layer is full: 10.7 bits for each key. */
const BLOCK_KEYS = 48;
/** Bits that are set for each key, all in one block. */
const KEY_BITS = 7;
/** Blocks of the first layer. Each further layer has twice as many. */
const FIRST_BLOCKS = 2048;

interface Layer {
  readonly words: Uint32Array;
  /** A power of two, less one. */
  readonly mask: number;
  /** Keys that can still be added. */
  room: number;
}

/**
 * A Bloom filter that grows: a full layer is followed by one of twice its size. Each layer takes about one of a hundred
 * keys that were never added for a known one.
 */
export class KeyFilter {
  readonly #layers: Layer[] = [];
  #size = 0;
  /** The two hashes of the last key. */
  #block = 0;
  #bits = 0;

  /** How many keys were added, without those that were taken for known ones. */
  get size(): number {
    return this.#size;
  }

  /** Adds a key. One that is known, such as that of a row which every round writes, takes no further room. */
  add(key: Uint8Array): void {
    if (this.has(key)) return;
    let layer = this.#layers.at(-1);
    if (layer === undefined || layer.room === 0) {
      layer = layerOf(FIRST_BLOCKS * 2 ** this.#layers.length);
      this.#layers.push(layer);
    }
    layer.room -= 1;
    this.#size += 1;
    const at = (this.#block & layer.mask) * BLOCK_WORDS;
    let [bit, step] = [this.#bits % BLOCK_BITS, (this.#bits >>> 9) | 1];
    for (let i = 0; i < KEY_BITS; i += 1) {
      const word = at + (bit >>> 5);
      layer.words[word] = (layer.words[word] ?? 0) | (1 << (bit & 31));
      bit = (bit + step) % BLOCK_BITS;
      step += i;
    }
  }

  /** Whether a key may have been added; true for every key that was. */
  has(key: Uint8Array): boolean {
    this.#hash(key);
    return this.#layers.some((layer) => this.#isIn(layer));
  }

  #isIn({ words, mask }: Layer): boolean {
    const at = (this.#block & mask) * BLOCK_WORDS;
    let [bit, step] = [this.#bits % BLOCK_BITS, (this.#bits >>> 9) | 1];
    for (let i = 0; i < KEY_BITS; i += 1) {
      if (((words[at + (bit >>> 5)] ?? 0) & (1 << (bit & 31))) === 0) return false;
      bit = (bit + step) % BLOCK_BITS;
      step += i;
    }
    return true;
  }

  /** Two hashes in one pass over the key: FNV-1a and a multiplicative one, each mixed as MurmurHash3 does at its end. */
  #hash(key: Uint8Array): void {
    let [first, second] = [0x811c9dc5, key.length];
    for (const byte of key) {
      first = Math.imul(first ^ byte, 0x01000193);
      second = Math.imul((second << 5) ^ (second >>> 27) ^ byte, 0x9e3779b1);
    }
    this.#block = mixed(first);
    this.#bits = mixed(second);
  }
}

function layerOf(blocks: number): Layer {
  const words = new Uint32Array(blocks * BLOCK_WORDS);
  return { words, mask: blocks - 1, room: blocks * BLOCK_KEYS };
}

function mixed(hash: number): number {
  let mixing = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  mixing = Math.imul(mixing ^ (mixing >>> 13), 0xc2b2ae35);
  return (mixing ^ (mixing >>> 16)) >>> 0;
}
