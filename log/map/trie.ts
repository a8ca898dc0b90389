// The head map in memory: a binary trie over 32-byte keys (log/FORMAT.md §4). Keys are set and never removed, because a
// chain always keeps its head. Server only.
//
// `freeze` makes a version, which stays provable while later keys are set: the trie is a persistent data structure. A
// node is a number: 0 is the empty map, n > 0 is inner record n − 1, and n < 0 is leaf record −n − 1. Each record has
// the epoch in which it was made, its birth. A record that no version contains is changed in place. A record of a
// version is copied before it is changed, and the original goes to the dead list of that version (class TrieVersions).

import { hash } from 'node:crypto';
import { digestBytes } from '../crypto/native.ts';
import { bitAt, emptyMap, MAX_SIBLINGS } from './check.ts';
import type { MapLeaf, MapProof } from './check.ts';
import { Records } from './records.ts';
import { LogError } from '../errors.ts';

export type { MapProof } from './check.ts';

/** Words of a 32-byte hash. */
const HASH_WORDS = 8;

/** Inner record: left, right, birth, hash[8]. The birth is negative while the hash is out of date. */
export const INNER_WORDS = 3 + HASH_WORDS;
/** Leaf record: skey[8], vhash[8], birth. */
export const LEAF_WORDS = 2 * HASH_WORDS + 1;

const INNER_BIRTH = 2;
const INNER_HASH = 3;
const LEAF_BIRTH = 2 * HASH_WORDS;
const HASH_BYTES = 4 * HASH_WORDS;

/** A version of the map, and its root. */
export interface Version {
  readonly id: number;
  readonly root: Uint8Array;
}

/** The records of a version, its root node, and the number of its keys. */
export interface TrieRecords {
  readonly inner: Records;
  readonly leaves: Records;
  readonly node: number;
  readonly keys: number;
}

/** The head map of one log. Only one thread may use it. */
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

  /** Makes an empty map, or one of loaded records, all of which have birth 1 and are in use. */
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

  /** The number of `set` calls since the last `root` or `freeze`. */
  get unhashed(): number {
    return this.#unhashed;
  }

  /** Records in use and allocated bytes, of all versions together. */
  get memory(): { inner: number; leaves: number; bytes: number } {
    return {
      inner: this.#inner.used,
      leaves: this.#leaves.used,
      bytes: this.#inner.byteLength + this.#leaves.byteLength,
    };
  }

  /** Sets the value of a key. Both have 32 bytes. */
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
    // Both leaves move down to the first bit in which their keys differ; each level above it has one child.
    for (let d = depth; d <= differs; d++) {
      const n = this.#newInner();
      this.#link(parent, side, n + 1);
      parent = n;
      side = bitAt(skey, d);
    }
    this.#link(parent, side, this.#newLeaf(skey, vhash));
    this.#link(parent, 1 - side, node);
  }

  /** The root over all keys. Only nodes that changed since the last call are hashed. */
  root(): Uint8Array {
    this.#unhashed = 0;
    if (this.#node > 0) this.#hashInner(this.#node - 1);
    return this.#hashOf(this.#node) ?? emptyMap();
  }

  /** Makes a version of the current map. It exists until `release` was called once more often than `hold`. */
  freeze(): Version {
    const root = this.root();
    const { id } = this.#versions.freeze({ root, node: this.#node, keys: this.#keys });
    return { id, root };
  }

  /** Keeps a version for one more `release`. */
  hold(id: number): void {
    this.#versions.hold(id);
  }

  /** Releases a version once. The last release frees the records that only this version contains. */
  release(id: number): void {
    this.#versions.release(id);
  }

  /**
   * The path of a key in a version, and the leaf at its end.
   *
   * @throws LogError `out_of_range` if there is no such version, or it was released
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

  /** The records of a version. The caller must hold the version while it reads them. */
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

  /**
   * Returns this inner record if no version contains it, else a copy. The hash of the result is marked as out of date.
   */
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

  /** The first bit, from `depth` on, in which the key of a leaf differs from `skey`; 256 if they are equal. */
  #firstDifference(n: number, skey: Uint8Array, depth: number): number {
    const bytes = this.#leaves.chunkBytes(n);
    const at = this.#leaves.byteOffset(n);
    for (let i = depth >> 3; i < HASH_BYTES; i++) {
      const difference = bytes[at + i]! ^ skey[i]!;
      if (difference !== 0) return 8 * i + Math.clz32(difference) - 24;
    }
    return MAX_SIBLINGS;
  }

  /** Computes the hash of an inner record and of every inner record below it, where they are out of date. */
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

  /**
   * The hash of a leaf is computed when it is needed and not stored, because it is read about as often as it changes.
   */
  #leafDigest(n: number): string {
    this.#leafInput.putPair(this.#leaves.chunk(n), this.#leaves.offset(n));
    return this.#leafInput.digest();
  }

  /** A copy of the hash of a node, which must be up to date; null for the empty map. */
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

// Node hashes, computed from words, with no allocation except that of the digest.

// The tag is the fourth byte, so that the hashes behind it are aligned and can be copied as words.
const TAG_BYTE = 3;
const FIRST = 1;
const SECOND = FIRST + HASH_WORDS;

/** The input tag ‖ first[32] ‖ second[32] of a node hash, in one buffer that is reused. */
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

  /** SHA-256 as a string of 32 characters below 256, which takes half the time of a Buffer (tools/bench/fold.ts). */
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

// The versions of a trie. Each version has a dead list, as in ZFS: the nodes that the previous version contains and it
// does not. With these lists, releasing a version frees exactly the nodes that no other version contains.

/** A version, and what a proof in it needs. */
export interface Frozen {
  readonly id: number;
  readonly root: Uint8Array;
  /** The number of its root node. */
  readonly node: number;
  readonly keys: number;
}

interface Held extends Frozen {
  holds: number;
  /** Nodes that the previous version contains and this one does not. */
  dead: number[];
}

/** The records of the trie: their births, and how to free them. */
export interface NodeStore {
  birth(node: number): number;
  free(node: number): void;
}

/** The versions by ascending id. An epoch ends with each version, whose id is the number of that epoch. */
export class TrieVersions {
  readonly #nodes: NodeStore;
  #versions: Held[] = [];
  #dead: number[] = [];
  #epoch = 1;
  #newest = 0;

  constructor(nodes: NodeStore) {
    this.#nodes = nodes;
  }

  /** The birth of new nodes, and the id of the next version. */
  get epoch(): number {
    return this.#epoch;
  }

  /**
   * The id of the newest version, 0 for none. Nodes born in this epoch or earlier belong to a version and must not
   * change.
   */
  get newest(): number {
    return this.#newest;
  }

  /** Records that the trie no longer contains a node of the newest version. */
  bury(node: number): void {
    this.#dead.push(node);
  }

  freeze(state: Omit<Frozen, 'id'>): Frozen {
    const version: Held = { ...state, id: this.#epoch, holds: 1, dead: this.#dead };
    this.#versions.push(version);
    this.#newest = version.id;
    this.#dead = [];
    this.#epoch++;
    return version;
  }

  hold(id: number): void {
    this.#held(id).holds++;
  }

  /** Releases a version once. The last release frees the nodes that only this version contains. */
  release(id: number): void {
    const version = this.#held(id);
    version.holds--;
    if (version.holds > 0) return;
    const at = this.#versions.indexOf(version);
    const before = this.#versions[at - 1]?.id ?? 0;
    const next = this.#versions[at + 1];
    const kept = version.dead;
    for (const node of next?.dead ?? this.#dead) {
      if (this.#nodes.birth(node) > before) this.#nodes.free(node);
      else kept.push(node);
    }
    if (next === undefined) this.#dead = kept;
    else next.dead = kept;
    this.#versions.splice(at, 1);
    this.#newest = this.#versions.at(-1)?.id ?? 0;
  }

  /** The version with an id; throws `out_of_range` if there is none, or it was released. */
  get(id: number): Frozen {
    return this.#held(id);
  }

  #held(id: number): Held {
    const version = this.#versions.find((other) => other.id === id);
    if (version === undefined) {
      throw new LogError('out_of_range', `version ${String(id)} of the map is not held`);
    }
    return version;
  }
}
