// The leaf hashes of what a monitor has checked, 32 bytes an entry in one file. By them an older note is
// judged at once, also when whoever serves it serves no tree that reaches the newest note seen.

import { open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { equal, LogError, makeFolder, native, toBase64 } from '../../log/index.ts';
import { HASH_BYTES, nodeHash } from '../../log/merkle/hash.ts';
import { consistencyPath, rootAt } from '../../log/merkle/prove.ts';
import type { HashReader } from '../../log/merkle/prove.ts';
import type { Noted } from './noted.ts';

/** What the newest tree says of an older size: the root that it had, and the path that proves it. */
export interface Prefix {
  readonly from: number;
  readonly to: number;
  /** Base64. */
  readonly from_root: string;
  /** RFC 9162 §2.1.4, base64. */
  readonly path: readonly string[];
}

/** The file of one log. What is taken stands in memory until `keep`. */
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

  /** Forgets what was taken: it was not the log's. */
  drop(): void {
    this.#count = 0;
  }

  /** Writes what was taken, at its place; a crash before the note is kept leaves hashes that nobody reads. */
  async keep(): Promise<void> {
    if (this.#count === 0) return;
    await makeFolder(dirname(this.#path));
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

  /** What the tree of `seen` had at an older size; null when the file does not give the root of `seen`. */
  async prefix(from: number, seen: Noted): Promise<Prefix | null> {
    const { size: to } = seen;
    const bytes = await readFile(this.#path).catch(missing);
    if (bytes === null || bytes.length < to * HASH_BYTES) return null;
    const reader = overLeaves(bytes);
    if (!equal(rootAt(reader, native, to), seen.root)) return null;
    return {
      ...{ from, to },
      from_root: toBase64(rootAt(reader, native, from)),
      path: consistencyPath(reader, from, to).map((hash) => toBase64(hash)),
    };
  }
}

function overLeaves(bytes: Uint8Array): HashReader {
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
          above.set(nodeHash(native, l, r), at);
        }
        level = above;
      }
      return level;
    },
  };
}

function missing(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
  throw error;
}
