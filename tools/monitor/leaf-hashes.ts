// The leaf hashes of every entry that a monitor has replayed, 32 bytes an entry in one file. Consistency proofs,
// inclusion proofs and the expected hash tiles are computed from them, so that a server which withholds its tiles
// can neither hide a fork nor keep a finding from being shown.

import { mkdir, open, readFile, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { equal, LogError, native, toBase64 } from '../../log/index.ts';
import { consistencyPath, HASH_BYTES, nodeHash, rootAt } from '../../log/operate.ts';
import type { HashReader } from '../../log/operate.ts';
import type { Prefix } from './finding.ts';
import type { Noted } from './noted.ts';

/** Hashes that are read from the file at once: 64 KB. */
const BLOCK = 2048;

/** Reads the hashes from an index up to another; fewer where the file ends. */
export type Slice = (from: number, to: number) => Promise<Buffer>;

/** The file of one log. Hashes that were taken stay in memory until `keep`. */
export class LeafHashes {
  readonly #path: string;
  /** Doubles as it fills: at a first look every hash of the log waits here. */
  #taken = Buffer.alloc(256 * HASH_BYTES);
  #count = 0;
  /** Index of the first one taken. */
  #from = 0;

  constructor(path: string) {
    this.#path = path;
  }

  take(index: number, leafHash: Uint8Array): void {
    if (this.#count === 0) this.#from = index;
    if (this.#count * HASH_BYTES === this.#taken.length) {
      this.#taken = Buffer.concat([this.#taken], this.#taken.length * 2);
    }
    this.#taken.set(leafHash, this.#count * HASH_BYTES);
    this.#count += 1;
  }

  /** A copy of the hashes from an index up to another; empty unless all of them wait in memory. */
  taken(from: number, to: number): Buffer {
    if (from < this.fresh || to > this.#from + this.#count) return Buffer.alloc(0);
    const [start, end] = [from - this.#from, to - this.#from];
    return Buffer.from(this.#taken.subarray(start * HASH_BYTES, end * HASH_BYTES));
  }

  /** Forgets what was taken: it was not the log's. */
  drop(): void {
    this.#count = 0;
  }

  /** Writes what was taken, at its place; a crash before the note is stored leaves hashes that are not read. */
  async keep(): Promise<void> {
    if (this.#count === 0) return;
    await mkdir(dirname(this.#path), { recursive: true });
    // `a+` only makes the file: where it appends is not ours to choose.
    await (await open(this.#path, 'a+', 0o644)).close();
    const file = await open(this.#path, 'r+');
    try {
      const length = this.#count * HASH_BYTES;
      await file.write(this.#taken, 0, length, this.#from * HASH_BYTES);
      await file.sync();
    } finally {
      await file.close();
    }
    this.#count = 0;
  }

  /** Index of the first hash in memory; Infinity when there is none. */
  get fresh(): number {
    return this.#count === 0 ? Infinity : this.#from;
  }

  /** How many hashes the file has. */
  async kept(): Promise<number> {
    const { size } = await stat(this.#path).catch(() => ({ size: 0 }));
    return Math.floor(size / HASH_BYTES);
  }

  /** Removes a file that does not fit the log: it is written anew. */
  async remove(): Promise<void> {
    this.#count = 0;
    await rm(this.#path, { force: true });
  }

  /** Reads from the file, which is open until `use` has ended. A slice is of one tile at most. */
  async reading<T>(use: (slice: Slice) => Promise<T>): Promise<T> {
    const file = await open(this.#path, 'r').catch(missing);
    // Tiles are mostly read in order, so the next one is in the block that was read last.
    let block = { from: Infinity, bytes: Buffer.alloc(0) };
    const slice: Slice = async (from, to) => {
      let { bytes, from: first } = block;
      if (from < first || to > first + BLOCK) {
        bytes = Buffer.alloc(BLOCK * HASH_BYTES);
        first = from;
        const read = await file?.read(bytes, 0, bytes.length, first * HASH_BYTES);
        bytes = bytes.subarray(0, read?.bytesRead ?? 0);
        block = { from: first, bytes };
      }
      return bytes.subarray((from - first) * HASH_BYTES, (to - first) * HASH_BYTES);
    };
    try {
      return await use(slice);
    } finally {
      await file?.close();
    }
  }

  /** The hashes from entry 0 on, those in memory included; as many as there are. */
  async all(): Promise<Buffer> {
    const stored = (await readFile(this.#path).catch(missing)) ?? Buffer.alloc(0);
    if (this.#count === 0) return stored;
    const start = this.#from * HASH_BYTES;
    if (stored.length < start) return stored;
    const taken = this.#taken.subarray(0, this.#count * HASH_BYTES);
    return Buffer.concat([stored.subarray(0, start), taken]);
  }

  /** What the tree of `seen` had at an older size; null when the file does not give the root of `seen`. */
  async prefix(from: number, seen: Noted): Promise<Prefix | null> {
    const { size: to } = seen;
    const bytes = await this.all();
    if (bytes.length < to * HASH_BYTES) return null;
    const reader = overLeaves(bytes);
    if (!equal(rootAt(reader, native, to), seen.root)) return null;
    return prefixOf(reader, from, to);
  }
}

/** The root at an older size with the consistency proof of both. */
export function prefixOf(hashes: HashReader, from: number, to: number): Prefix {
  return {
    ...{ from, to },
    from_root: toBase64(rootAt(hashes, native, from)),
    path: consistencyPath(hashes, from, to).map((hash) => toBase64(hash)),
  };
}

/** Subtrees over consecutive leaf hashes. */
export function overLeaves(bytes: Uint8Array): HashReader {
  return {
    subtree(height, index) {
      const length = 2 ** height * HASH_BYTES;
      let level = bytes.subarray(index * length, (index + 1) * length);
      if (level.length !== length) throw new LogError('out_of_range', 'no such leaf');
      while (level.length > HASH_BYTES) {
        const above = new Uint8Array(level.length / 2);
        for (let at = 0; at < above.length; at += HASH_BYTES) {
          const right = 2 * at + HASH_BYTES;
          const [l, r] = [level.subarray(2 * at, right), level.subarray(right, right + HASH_BYTES)];
          nodeHash(native, l, r, above.subarray(at, at + HASH_BYTES));
        }
        level = above;
      }
      return level;
    },
  };
}

/** The hash at an index, or null beyond the last one. */
export function leafAt(bytes: Uint8Array, index: number): Uint8Array | null {
  const leaf = bytes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES);
  return leaf.length === HASH_BYTES ? leaf : null;
}

function missing(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
  throw error;
}
