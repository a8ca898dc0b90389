// The head map in memory: a binary trie over 32-byte keys, persistent between frozen versions and in
// place within one. log/FORMAT.md §4. Server only. Keys are set, never removed: a chain
// that began never ends.
//
// A node is a number: 0 the empty map, n > 0 inner record n − 1, n < 0 leaf record −n − 1. Each record
// carries the epoch of its birth. A record that no frozen version can reach is changed in place;
// any other is copied, and the original is buried with the version that still reaches it.

import { hash } from 'node:crypto';
import { digestBytes } from '../crypto/native.ts';
import { bitAt, emptyMap, MAX_SIBLINGS } from './check.ts';
import type { MapLeaf, MapProof } from './check.ts';
import { Records } from './records.ts';
import { TrieVersions } from './trie-versions.ts';

export type { MapProof } from './check.ts';

/** Words of a 32-byte hash. */
const HASH_WORDS = 8;

/** Inner record: left, right, birth (negative while the hash is out of date), hash[8]. */
export const INNER_WORDS = 3 + HASH_WORDS;
/** Leaf record: skey[8], vhash[8], birth. */
export const LEAF_WORDS = 2 * HASH_WORDS + 1;

const INNER_BIRTH = 2;
const INNER_HASH = 3;
const LEAF_BIRTH = 2 * HASH_WORDS;
const HASH_BYTES = 4 * HASH_WORDS;

/** A map as it stood when it was frozen. */
export interface Version {
  readonly id: number;
  readonly root: Uint8Array;
}

/** What a snapshot holds: the records, which of them is the root, how many keys. */
export interface TrieRecords {
  readonly inner: Records;
  readonly leaves: Records;
  readonly node: number;
  readonly keys: number;
}

/** The head map of one log. Not for two threads. */
export class HeadTrie {
  readonly #inner: Records;
  readonly #leaves: Records;
  readonly #nodeInput = new HashInput(3);
  readonly #leafInput = new HashInput(2);
  #node: number;
  #keys: number;
  readonly #versions = new TrieVersions({
    birth: (node) => this.#birth(node),
    free: (node) => {
      this.#freeNode(node);
    },
  });
  #unhashed = 0;

  /** An empty map, or one over loaded records: births 1, no record free. */
  constructor(records?: TrieRecords) {
    this.#inner = records?.inner ?? new Records(INNER_WORDS);
    this.#leaves = records?.leaves ?? new Records(LEAF_WORDS);
    this.#node = records?.node ?? 0;
    this.#keys = records?.keys ?? 0;
  }

  /** How many keys the map holds. */
  get size(): number {
    return this.#keys;
  }

  /** How many keys were set since hashes were last up to date. */
  get unhashed(): number {
    return this.#unhashed;
  }

  /** Records in use and bytes held, of all versions together. */
  get memory(): { inner: number; leaves: number; bytes: number } {
    return {
      inner: this.#inner.used,
      leaves: this.#leaves.used,
      bytes: this.#inner.byteLength + this.#leaves.byteLength,
    };
  }

  /** Puts the value of a key, 32 bytes each. */
  set(skey: Uint8Array, vhash: Uint8Array): void {
    checkLength(skey, 'skey');
    checkLength(vhash, 'vhash');
    this.#unhashed++;
    let parent = -1;
    let side = 0;
    let depth = 0;
    let node = this.#node;
    while (node > 0) {
      const n = this.#ownInner(node - 1);
      if (n !== node - 1) this.#link(parent, side, n + 1);
      parent = n;
      side = bitAt(skey, depth++);
      node = this.#inner.get(n, side);
    }
    if (node === 0) {
      this.#link(parent, side, this.#newLeaf(skey, vhash));
      return;
    }
    const differs = this.#firstDifference(-node - 1, skey, depth);
    if (differs === MAX_SIBLINGS) {
      this.#link(parent, side, this.#setLeaf(-node - 1, vhash));
      return;
    }
    // Both leaves go down to where their keys part; the levels between have one child.
    for (let d = depth; d <= differs; d++) {
      const n = this.#newInner();
      this.#link(parent, side, n + 1);
      parent = n;
      side = bitAt(skey, d);
    }
    this.#link(parent, side, this.#newLeaf(skey, vhash));
    this.#link(parent, 1 - side, node);
  }

  /** The root over all keys set so far; hashes only what changed since it was last asked for. */
  root(): Uint8Array {
    this.#unhashed = 0;
    if (this.#node > 0) this.#hashInner(this.#node - 1);
    return this.#hashOf(this.#node) ?? emptyMap();
  }

  /** Keeps the map as it stands, provable until released as often as it was frozen and held. */
  freeze(): Version {
    const root = this.root();
    const { id } = this.#versions.freeze({ root, node: this.#node, keys: this.#keys });
    return { id, root };
  }

  /** Keeps a frozen version for one more release. */
  hold(id: number): void {
    this.#versions.hold(id);
  }

  /** Lets go of a version; what only it reached is used again. */
  release(id: number): void {
    this.#versions.release(id);
  }

  /**
   * The way to a key's slot in a frozen version, and what stands there.
   *
   * @throws LogError `out_of_range` when the version was released or never was.
   */
  prove(id: number, skey: Uint8Array): MapProof {
    checkLength(skey, 'skey');
    const siblings: (Uint8Array | null)[] = [];
    let { node } = this.#versions.get(id);
    while (node > 0) {
      const side = bitAt(skey, siblings.length);
      siblings.push(this.#hashOf(this.#inner.get(node - 1, 1 - side)));
      node = this.#inner.get(node - 1, side);
    }
    return { siblings, leaf: node === 0 ? null : this.#leafAt(-node - 1) };
  }

  /** The records of a frozen version, to be read only while it is held. */
  records(id: number): TrieRecords {
    const { node, keys } = this.#versions.get(id);
    return { inner: this.#inner, leaves: this.#leaves, node, keys };
  }

  #link(parent: number, side: number, node: number): void {
    if (parent < 0) this.#node = node;
    else this.#inner.set(parent, side, node);
  }

  #newInner(): number {
    const n = this.#inner.take();
    this.#inner.set(n, 0, 0);
    this.#inner.set(n, 1, 0);
    this.#inner.set(n, INNER_BIRTH, -this.#versions.epoch);
    return n;
  }

  /** The inner record that may be changed in place of this one, marked as to be hashed. */
  #ownInner(n: number): number {
    const birth = Math.abs(this.#inner.get(n, INNER_BIRTH));
    if (birth > this.#versions.newest) {
      this.#inner.set(n, INNER_BIRTH, -birth);
      return n;
    }
    const copy = this.#inner.take();
    this.#inner.copy(n, copy);
    this.#inner.set(copy, INNER_BIRTH, -this.#versions.epoch);
    this.#versions.bury(n + 1);
    return copy;
  }

  #newLeaf(skey: Uint8Array, vhash: Uint8Array): number {
    const n = this.#leaves.take();
    this.#leaves.chunkBytes(n).set(skey, this.#leaves.byteOffset(n));
    this.#leaves.chunkBytes(n).set(vhash, this.#leaves.byteOffset(n) + HASH_BYTES);
    this.#leaves.set(n, LEAF_BIRTH, this.#versions.epoch);
    this.#keys++;
    return -n - 1;
  }

  #setLeaf(n: number, vhash: Uint8Array): number {
    let own = n;
    if (this.#leaves.get(n, LEAF_BIRTH) <= this.#versions.newest) {
      own = this.#leaves.take();
      this.#leaves.copy(n, own);
      this.#leaves.set(own, LEAF_BIRTH, this.#versions.epoch);
      this.#versions.bury(-n - 1);
    }
    this.#leaves.chunkBytes(own).set(vhash, this.#leaves.byteOffset(own) + HASH_BYTES);
    return -own - 1;
  }

  #birth(node: number): number {
    return node > 0
      ? Math.abs(this.#inner.get(node - 1, INNER_BIRTH))
      : this.#leaves.get(-node - 1, LEAF_BIRTH);
  }

  #freeNode(node: number): void {
    if (node > 0) this.#inner.free(node - 1);
    else this.#leaves.free(-node - 1);
  }

  /** The first bit from `depth` on in which a leaf's key differs from another, or 256. */
  #firstDifference(n: number, skey: Uint8Array, depth: number): number {
    const bytes = this.#leaves.chunkBytes(n);
    const at = this.#leaves.byteOffset(n);
    for (let i = depth >> 3; i < HASH_BYTES; i++) {
      const difference = bytes[at + i]! ^ skey[i]!;
      if (difference !== 0) return 8 * i + Math.clz32(difference) - 24;
    }
    return MAX_SIBLINGS;
  }

  /** Brings the hash of an inner record up to date, and of what is below it. */
  #hashInner(n: number): void {
    const birth = this.#inner.get(n, INNER_BIRTH);
    if (birth > 0) return;
    const left = this.#inner.get(n, 0);
    const right = this.#inner.get(n, 1);
    if (left > 0) this.#hashInner(left - 1);
    if (right > 0) this.#hashInner(right - 1);
    this.#putHash(0, left);
    this.#putHash(1, right);
    const chunk = this.#inner.chunk(n);
    writeDigest(this.#nodeInput.digest(), chunk, this.#inner.offset(n) + INNER_HASH);
    this.#inner.set(n, INNER_BIRTH, -birth);
  }

  #putHash(half: number, node: number): void {
    if (node > 0) {
      const n = node - 1;
      const at = this.#inner.offset(n) + INNER_HASH;
      this.#nodeInput.putHalf(half, this.#inner.chunk(n), at);
    } else if (node < 0) {
      this.#nodeInput.putDigest(half, this.#leafDigest(-node - 1));
    } else {
      this.#nodeInput.putEmpty(half);
    }
  }

  /** The hash of a leaf is not stored: it is asked for about as often as it changes. */
  #leafDigest(n: number): string {
    this.#leafInput.putPair(this.#leaves.chunk(n), this.#leaves.offset(n));
    return this.#leafInput.digest();
  }

  /** The hash of a clean node, a copy; null of the empty map. */
  #hashOf(node: number): Uint8Array | null {
    if (node === 0) return null;
    if (node < 0) return digestBytes(this.#leafDigest(-node - 1));
    const at = this.#inner.byteOffset(node - 1) + 4 * INNER_HASH;
    return this.#inner.chunkBytes(node - 1).slice(at, at + HASH_BYTES);
  }

  #leafAt(n: number): MapLeaf {
    const bytes = this.#leaves.chunkBytes(n);
    const at = this.#leaves.byteOffset(n);
    return {
      skey: bytes.slice(at, at + HASH_BYTES),
      vhash: bytes.slice(at + HASH_BYTES, at + 2 * HASH_BYTES),
    };
  }
}

function checkLength(bytes: Uint8Array, name: string): void {
  if (bytes.length !== HASH_BYTES) {
    throw new Error(`${name} is ${String(bytes.length)} bytes, not ${String(HASH_BYTES)}`);
  }
}

// The hashes of nodes, computed word by word and without an allocation except the digest.

// The tag is the fourth byte, so that what follows it is aligned and moves by words, not by bytes.
const TAG_BYTE = 3;
const FIRST = 1;
const SECOND = FIRST + HASH_WORDS;

/** tag ‖ first[32] ‖ second[32], to be filled in and hashed again and again. */
class HashInput {
  readonly #words = new Int32Array(1 + 2 * HASH_WORDS);
  readonly #bytes = new Uint8Array(this.#words.buffer, TAG_BYTE, 65);

  constructor(tag: number) {
    this.#bytes[0] = tag;
  }

  /** Fills both halves from 16 adjacent words. */
  putPair(source: Int32Array, at: number): void {
    const words = this.#words;
    for (let i = 0; i < 2 * HASH_WORDS; i++) words[FIRST + i] = source[at + i]!;
  }

  /** Fills one half (0 or 1) from 8 words. */
  putHalf(half: number, source: Int32Array, at: number): void {
    const words = this.#words;
    const to = half === 0 ? FIRST : SECOND;
    for (let i = 0; i < HASH_WORDS; i++) words[to + i] = source[at + i]!;
  }

  /** Fills one half with 32 zero bytes, the empty map. */
  putEmpty(half: number): void {
    const to = half === 0 ? FIRST : SECOND;
    this.#words.fill(0, to, to + HASH_WORDS);
  }

  /** Fills one half with the digest of another input. */
  putDigest(half: number, digest: string): void {
    writeDigest(digest, this.#words, half === 0 ? FIRST : SECOND);
  }

  /** SHA-256 as a string of 32 characters below 256: measured at half the time of a Buffer. */
  digest(): string {
    return hash('sha256', this.#bytes, 'binary');
  }
}

/** Writes a digest as 8 words whose bytes in memory are those of the hash. */
function writeDigest(digest: string, target: Int32Array, at: number): void {
  for (let i = 0; i < HASH_WORDS; i++) {
    const c = 4 * i;
    target[at + i] = LITTLE_ENDIAN
      ? digest.charCodeAt(c) |
        (digest.charCodeAt(c + 1) << 8) |
        (digest.charCodeAt(c + 2) << 16) |
        (digest.charCodeAt(c + 3) << 24)
      : digest.charCodeAt(c + 3) |
        (digest.charCodeAt(c + 2) << 8) |
        (digest.charCodeAt(c + 1) << 16) |
        (digest.charCodeAt(c) << 24);
  }
}

const LITTLE_ENDIAN = new Uint8Array(new Int32Array([1]).buffer)[0] === 1;
