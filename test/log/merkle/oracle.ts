// The recursive definitions of RFC 6962 §2.1, and tiles in memory, as oracles for tests.

import { native } from '../../../log/crypto/native.ts';
import { utf8 } from '../../../log/encoding/bytes.ts';
import { EMPTY_ROOT, leafHash, nodeHash } from '../../../log/merkle/hash.ts';
import type { RightEdge } from '../../../log/merkle/edge.ts';

/** Distinct leaf hashes. */
export function someLeaves(count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, i) => leafHash(native, utf8(`leaf ${String(i)}`)));
}

/** MTH, PATH and PROOF over leaf hashes; complete subtrees are cached. */
export class Oracle {
  readonly #leaves: readonly Uint8Array[];
  readonly #known = new Map<string, Uint8Array>();

  constructor(leaves: readonly Uint8Array[]) {
    this.#leaves = leaves;
  }

  root(size: number): Uint8Array {
    return size === 0 ? EMPTY_ROOT : this.range(0, size);
  }

  inclusion(index: number, size: number): Uint8Array[] {
    return this.#path(index, 0, size);
  }

  consistency(from: number, to: number): Uint8Array[] {
    return from === 0 ? [] : this.#proof(from, 0, to, true);
  }

  /** The root over the leaves from start to before end. */
  range(start: number, end: number): Uint8Array {
    const leaf = this.#leaves[start];
    if (leaf === undefined) throw new RangeError('no such leaf');
    if (end - start === 1) return leaf;
    const name = `${String(start)}-${String(end)}`;
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const middle = start + split(end - start);
    const hash = nodeHash(native, this.range(start, middle), this.range(middle, end));
    if (split(end - start) * 2 === end - start) this.#known.set(name, hash);
    return hash;
  }

  #path(index: number, start: number, end: number): Uint8Array[] {
    if (end - start === 1) return [];
    const middle = start + split(end - start);
    return index < middle
      ? [...this.#path(index, start, middle), this.range(middle, end)]
      : [...this.#path(index, middle, end), this.range(start, middle)];
  }

  #proof(from: number, start: number, end: number, whole: boolean): Uint8Array[] {
    if (from === end) return whole ? [] : [this.range(start, end)];
    const middle = start + split(end - start);
    return from <= middle
      ? [...this.#proof(from, start, middle, whole), this.range(middle, end)]
      : [...this.#proof(from, middle, end, false), this.range(start, middle)];
  }
}

/** The sides of the siblings from the range start to end up to the root of `size`. */
export function sides(start: number, end: number, size: number): string {
  let path = '';
  for (let left = 0, right = size; right - left > end - start;) {
    const middle = left + split(right - left);
    if (start < middle) right = middle;
    else left = middle;
    path = (right === middle ? 'R' : 'L') + path;
  }
  return path;
}

/** Stored tiles by level and number, each in its largest width. */
export class TileStore {
  readonly tiles = new Map<string, Uint8Array>();

  take(edge: RightEdge): void {
    for (const { level, n, hashes } of edge.takeDirty()) this.tiles.set(key(level, n), hashes);
  }

  readonly read = (level: number, n: number, width: number): Uint8Array | null => {
    const hashes = this.tiles.get(key(level, n));
    return hashes === undefined || hashes.length < width * 32 ? null : hashes.slice(0, width * 32);
  };

  /** Like `read`, but empty instead of null. */
  readonly have = (level: number, n: number, width: number): Uint8Array =>
    this.read(level, n, width) ?? new Uint8Array(0);
}

function key(level: number, n: number): string {
  return `${String(level)}/${String(n)}`;
}

/** The largest power of two below n. */
function split(n: number): number {
  let k = 1;
  while (k * 2 < n) k *= 2;
  return k;
}
