// The chains of a replayed log: checks the links of each entry, keeps the current head of every chain, and computes the
// root of the head map over these heads. log/FORMAT.md §3, §4.

import type { Suite } from '../crypto/suite.ts';
import { toHex } from '../encoding/bytes.ts';
import { isJsonObject } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { vhash } from '../map/head.ts';
import { chainKeys, sameKey, skey } from '../map/key.ts';
import type { ChainKey, Head } from '../types.ts';
import { RuleBroken, under } from '../rules/violation.ts';

/**
 * The head map from skey to vhash. Its root depends on its content only, not on the order of the calls (log/FORMAT.md
 * §4).
 */
export interface HeadMap {
  set(skey: Uint8Array, vhash: Uint8Array): void;
  root(): Uint8Array;
}

/** A link that was checked, with the place of its chain in the table of heads. */
export interface CheckedLink {
  readonly key: ChainKey;
  /** The slot of the chain's head; the skey for a chain whose first entry this is. */
  readonly at: number | Uint8Array;
  readonly seq: number;
}

/** The chains of a log after the last replayed entry. */
export class Chains {
  readonly origin: string;
  readonly #suite: Suite;
  readonly #map: HeadMap;
  readonly #heads: HeadTable;
  /**
   * Slots whose heads changed since the last `mapRoot`. A chain is hashed once per map head, however many entries it
   * got.
   */
  readonly #moved = new Set<number>();

  constructor(suite: Suite, origin: string, map: HeadMap, heads = new HeadTable()) {
    this.#suite = suite;
    this.origin = origin;
    this.#map = map;
    this.#heads = heads;
    for (let slot = 0; slot < heads.size; slot++) this.#moved.add(slot);
  }

  head(key: ChainKey): Head | null {
    const slot = this.#heads.find(skey(this.#suite, this.origin, key));
    if (slot < 0) return null;
    const head = this.#heads.head(slot);
    return { ...head, last_leaf_hash: head.last_leaf_hash.slice() };
  }

  /**
   * Checks that the entry has exactly the links that its members and the templates of its type require, and that each
   * of them continues from the current head of its chain.
   *
   * @throws RuleBroken `links`, `reserved_members`
   */
  check(statement: JsonObject, templates: readonly (readonly string[])[]): readonly CheckedLink[] {
    const keys = under(
      ({ code }) => (code === 'links_exceeded' ? 'links' : 'reserved_members'),
      () => chainKeys(statement, templates),
    );
    const links = statement.links === undefined ? [] : listOf(statement.links);
    if (links.length !== keys.length || (links.length === 0 && statement.links !== undefined)) {
      throw new RuleBroken('links', `entry has not exactly ${String(keys.length)} links`);
    }
    return keys.map((key, i) => this.#checkLink(key, links[i] ?? null));
  }

  /** Makes an entry the head of each of its chains. `check` must have returned these links. */
  apply(links: readonly CheckedLink[], index: number, ms: number, leafHash: Uint8Array): void {
    for (const { at, seq } of links) {
      const slot = typeof at === 'number' ? at : this.#heads.slot(at);
      this.#heads.set(slot, {
        count: seq + 1,
        last_index: index,
        last_ms: ms,
        last_leaf_hash: leafHash,
      });
      this.#moved.add(slot);
    }
  }

  /** The root of the head map over all entries so far. */
  mapRoot(): Uint8Array {
    for (const slot of this.#moved) {
      this.#map.set(this.#heads.skey(slot), vhash(this.#suite, this.#heads.head(slot)));
    }
    this.#moved.clear();
    return this.#map.root();
  }

  /** The heads, for `HeadTable.load`. */
  dump(): Uint8Array {
    return this.#heads.dump();
  }

  #checkLink(key: ChainKey, link: Json): CheckedLink {
    const bytes = skey(this.#suite, this.origin, key);
    const slot = this.#heads.find(bytes);
    const head = slot < 0 ? null : this.#heads.head(slot);
    const seq = head?.count ?? 0;
    const holds =
      isJsonObject(link) &&
      Object.keys(link).length === 4 &&
      Array.isArray(link.key) &&
      sameKey(link.key as ChainKey, key) &&
      link.seq === seq &&
      link.prev_index === (head?.last_index ?? null) &&
      link.prev_ms === (head?.last_ms ?? null);
    if (!holds) {
      const related = head === null ? [] : [head.last_index];
      throw new RuleBroken(
        'links',
        `link on ${JSON.stringify(key)} (skey ${toHex(bytes)}) is not seq ${String(seq)}`,
        related,
      );
    }
    return { key, at: slot < 0 ? bytes : slot, seq };
  }
}

function listOf(value: Json): readonly Json[] {
  if (!Array.isArray(value)) throw new RuleBroken('links', 'links is not a list');
  return value as readonly Json[];
}

// The heads of all chains by skey. They are kept in flat arrays instead of objects, because a monitor holds millions of
// them. log/FORMAT.md §3.

const HASH = 32;
/** skey, count, last_index, last_ms, last_leaf_hash: 32 + 3 · 8 + 32. */
export const ROW_BYTES = 88;
const CHUNK_BITS = 14;
const CHUNK = 1 << CHUNK_BITS;

/** A block of rows. The table grows by whole blocks, so that growing never copies a row. */
interface Chunk {
  readonly skeys: Uint8Array;
  readonly numbers: Float64Array;
  readonly leafHashes: Uint8Array;
}

/** A table of heads. A chain gets the next free slot when it is first added, and keeps it. */
export class HeadTable {
  readonly #chunks: Chunk[] = [];
  #size = 0;
  /** A hash table with open addressing, at most half full. Each place holds slot + 1, or 0 if it is free. */
  #places = new Int32Array(1024);

  get size(): number {
    return this.#size;
  }

  /** The slot of a skey, or -1. */
  find(skey: Uint8Array): number {
    return this.#places[this.#place(skey)]! - 1;
  }

  /** The slot of a skey. A skey without a slot gets a new one, whose head has count 0. */
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

  /** All rows, ROW_BYTES each, with the numbers as big-endian doubles. `load` reads them. */
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

  /**
   * The place of a skey, or the free place where it belongs. A skey is a SHA-256 digest, so its first bits are the
   * hash.
   */
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
