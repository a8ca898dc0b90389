// Snapshots of the head map: files from which a start loads the map instead of inserting and hashing a million keys.
// A snapshot is only a cache. If it is missing or damaged, the map is built from the stored heads. Server only.
//
// The file is
// magic[8] ‖ byte order u32 ‖ root node i32 ‖ inner u32 ‖ leaves u32 ‖ covered u64 BE ‖
// SHA-256 of the inner records[32] ‖ SHA-256 of the leaf records[32] ‖ SHA-256 of all that[32] ‖
// leaf records ‖ inner records, where the records are those of trie.ts in the byte order of the machine.

import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { equal, readU64, u64 } from '../encoding/bytes.ts';
import { writeDurableFile } from '../store/durable-file.ts';
import { Records } from './records.ts';
import { HeadTrie, INNER_WORDS, LEAF_WORDS } from './trie.ts';
import type { TrieRecords } from './trie.ts';

const MAGIC = new TextEncoder().encode('actlogm1');
/** A machine of the other byte order reads another number, and ignores the snapshot. */
const BYTE_ORDER = 0x01020304;
const HEADER_BYTES = 128;
const COVERED_AT = 24;
const INNER_HASH_AT = 32;
const LEAF_HASH_AT = 64;
const HEADER_HASH_AT = 96;

/** Records in one write. Copying and hashing them takes a few milliseconds, after which other events are handled. */
const SLICE_RECORDS = 8192;

/** The birth of every loaded record: the epoch of a new trie, which has no version yet. */
const LOADED_BIRTH = 1;

/** A map from a snapshot. */
export interface Loaded {
  readonly trie: HeadTrie;
  /** The index of the map head with this root: entries before it are in the map. */
  readonly covered: number;
}

/**
 * Writes a version of a map as a snapshot. The caller must hold the version until the promise resolves. Other work runs
 * between slices.
 */
export async function saveSnapshot(
  records: TrieRecords,
  covered: number,
  path: string,
): Promise<void> {
  await writeDurableFile(
    path,
    async (file) => {
      const header = await writeRecords(file, records, covered);
      await writeAll(file, header, 0);
    },
    { secret: true },
  );
}

/**
 * Loads the map of a snapshot; null if the file is missing, unreadable, damaged or of another byte order. The caller
 * then builds the map from the head records.
 */
export function loadSnapshot(path: string): Loaded | null {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return null;
  }
  try {
    return readRecords(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall !== undefined) return null;
    throw error;
  } finally {
    closeSync(file);
  }
}

/** Writes the records of one kind to the file, renumbered from 0 in the order of `add`. */
class Region {
  readonly #file: FileHandle;
  readonly #words: number;
  readonly #hash: Hash = createHash('sha256');
  readonly #slice: Int32Array;
  #position: number;
  #filled = 0;
  count = 0;

  constructor(file: FileHandle, words: number, position: number) {
    this.#file = file;
    this.#words = words;
    this.#position = position;
    this.#slice = new Int32Array(words * SLICE_RECORDS);
  }

  get full(): boolean {
    return this.#filled === SLICE_RECORDS;
  }

  /** Copies a record to the current slice, and returns its position there. */
  add(records: Records, n: number): { words: Int32Array; at: number } {
    const at = this.#filled * this.#words;
    const from = records.offset(n);
    this.#slice.set(records.chunk(n).subarray(from, from + this.#words), at);
    this.#filled++;
    this.count++;
    return { words: this.#slice, at };
  }

  async flush(): Promise<void> {
    const bytes = new Uint8Array(this.#slice.buffer, 0, this.#filled * this.#words * 4);
    this.#hash.update(bytes);
    await writeAll(this.#file, bytes, this.#position);
    this.#position += bytes.length;
    this.#filled = 0;
  }

  digest(): Uint8Array {
    return this.#hash.digest();
  }
}

/**
 * Writes the records in post-order, so that the new numbers of both children are known when their parent is written.
 * Returns the header.
 */
async function writeRecords(
  file: FileHandle,
  { inner, leaves, node: root, keys }: TrieRecords,
  covered: number,
): Promise<Uint8Array> {
  const leafRegion = new Region(file, LEAF_WORDS, HEADER_BYTES);
  // The leaves are first in the file, because their number is known before the walk.
  const innerRegion = new Region(file, INNER_WORDS, HEADER_BYTES + keys * LEAF_WORDS * 4);
  const path: { node: number; children: [number, number]; next: 0 | 1 | 2 }[] = [];
  let node = root;
  let written = 0;
  for (;;) {
    // Down to a leaf or an empty subtree.
    if (node > 0) {
      path.push({ node, children: [0, 0], next: 0 });
    } else if (node < 0) {
      const { words, at } = leafRegion.add(leaves, -node - 1);
      words[at + LEAF_WORDS - 1] = LOADED_BIRTH;
      written = -leafRegion.count;
      if (leafRegion.full) await leafRegion.flush();
    } else {
      written = 0;
    }
    // Up as long as both children are written.
    let top = path.at(-1);
    if (node <= 0 && top !== undefined) top.children[top.next++ as 0 | 1] = written;
    while (top?.next === 2) {
      const { words, at } = innerRegion.add(inner, top.node - 1);
      words[at] = top.children[0];
      words[at + 1] = top.children[1];
      words[at + 2] = LOADED_BIRTH;
      written = innerRegion.count;
      if (innerRegion.full) await innerRegion.flush();
      path.pop();
      top = path.at(-1);
      if (top !== undefined) top.children[top.next++ as 0 | 1] = written;
    }
    if (top === undefined) break;
    node = inner.get(top.node - 1, top.next);
  }
  await leafRegion.flush();
  await innerRegion.flush();
  return headerOf(written, innerRegion, leafRegion, covered);
}

function headerOf(root: number, inner: Region, leaves: Region, covered: number): Uint8Array {
  const header = new Uint8Array(HEADER_BYTES);
  header.set(MAGIC);
  new Int32Array(header.buffer, 8, 4).set([BYTE_ORDER, root, inner.count, leaves.count]);
  header.set(u64(covered), COVERED_AT);
  header.set(inner.digest(), INNER_HASH_AT);
  header.set(leaves.digest(), LEAF_HASH_AT);
  header.set(sha256(header.subarray(0, HEADER_HASH_AT)), HEADER_HASH_AT);
  return header;
}

function readRecords(file: number): Loaded | null {
  const header = new Uint8Array(HEADER_BYTES);
  if (readAll(file, header) !== HEADER_BYTES) return null;
  const [order, root, innerCount, leafCount] = new Int32Array(header.buffer, 8, 4) as unknown as [
    number,
    number,
    number,
    number,
  ];
  const whole =
    equal(header.subarray(0, MAGIC.length), MAGIC) &&
    order === BYTE_ORDER &&
    equal(sha256(header.subarray(0, HEADER_HASH_AT)), header.subarray(HEADER_HASH_AT)) &&
    // Checked before memory is allocated: a truncated file must not allocate as much as its header claims.
    fstatSync(file).size === HEADER_BYTES + 4 * (innerCount * INNER_WORDS + leafCount * LEAF_WORDS);
  if (!whole) return null;
  const leaves = loadRecords(file, LEAF_WORDS, leafCount, header.subarray(LEAF_HASH_AT, 96));
  const inner = loadRecords(file, INNER_WORDS, innerCount, header.subarray(INNER_HASH_AT, 64));
  if (leaves === null || inner === null) return null;
  const trie = new HeadTrie({ inner, leaves, node: root, keys: leafCount });
  return { trie, covered: readU64(header, COVERED_AT) };
}

/** Reads records from the file; null if they do not match the digest. */
function loadRecords(
  file: number,
  words: number,
  count: number,
  digest: Uint8Array,
): Records | null {
  const records = new Records(words);
  const hash = createHash('sha256');
  let read = 0;
  records.load(count, (bytes) => {
    read += readAll(file, bytes);
    hash.update(bytes);
  });
  return read === count * words * 4 && equal(hash.digest(), digest) ? records : null;
}

/** Reads from the current position of the file, and returns the number of bytes that were there. */
function readAll(file: number, bytes: Uint8Array): number {
  let at = 0;
  while (at < bytes.length) {
    const read = readSync(file, bytes, at, bytes.length - at, null);
    if (read === 0) break;
    at += read;
  }
  return at;
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, at, bytes.length - at, position + at);
    at += bytesWritten;
  }
}

function sha256(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest();
}
