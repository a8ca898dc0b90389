// Computes roots and proofs from stored subtrees. RFC 9162 §2.1.3.1 (inclusion) and §2.1.4.1 (consistency). Sizes go up
// to 2^53 - 1, so the code divides where 32-bit shifts would overflow. At the end, the tree over a list in memory.

import type { Suite } from '../crypto/suite.ts';
import { native } from '../crypto/native.ts';
import { LogError } from '../errors.ts';
import { EMPTY_ROOT, leafHash, nodeHash } from './hash.ts';

/** Reads the roots of perfect subtrees. */
export interface HashReader {
  /** The root over the leaves from index·2^height up to (index + 1)·2^height; throws if it is not stored. */
  subtree(height: number, index: number): Uint8Array;
}

/** Cache for many paths of one tree: roots of its incomplete right side, by the index of their first leaf. */
export type RightSide = Map<number, Uint8Array>;

/**
 * The inclusion path of a leaf in the tree of `size`, from the leaf to the root. A caller that needs many paths of one
 * size passes the same `rightSide` each time.
 *
 * @throws LogError `out_of_range` unless index < size
 */
export function inclusionPath(
  reader: HashReader,
  index: number,
  size: number,
  suite: Suite = native,
  rightSide?: RightSide,
): Uint8Array[] {
  checkSize(size);
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) {
    throw outOfRange(`index ${String(index)} is not below size ${String(size)}`);
  }
  return siblings(reader, suite, { height: 0, index }, size, rightSide);
}

/** The consistency path between two sizes; empty from 0 and between equal sizes. Throws `out_of_range` if from > to. */
export function consistencyPath(
  reader: HashReader,
  from: number,
  to: number,
  suite: Suite = native,
): Uint8Array[] {
  checkSize(from);
  checkSize(to);
  if (from > to) throw outOfRange(`from ${String(from)} is over to ${String(to)}`);
  if (from === 0 || from === to) return [];
  // The largest perfect subtree that ends with the last leaf of the older tree.
  let height = 0;
  let index = from - 1;
  for (; index % 2 === 1; index = half(index)) height++;
  const path = siblings(reader, suite, { height, index }, to);
  // If `from` is a power of two, that subtree is the whole older tree, and the verifier has its root.
  return index === 0 ? path : [reader.subtree(height, index), ...path];
}

/** The root of the tree of `size`. */
export function rootAt(reader: HashReader, suite: Suite, size: number): Uint8Array {
  checkSize(size);
  return size === 0 ? EMPTY_ROOT.slice() : rangeRoot(reader, suite, 0, size);
}

/** The siblings of a subtree on the way to the root of the tree of `size`. */
function siblings(
  reader: HashReader,
  suite: Suite,
  start: { readonly height: number; readonly index: number },
  size: number,
  rightSide: RightSide = new Map(),
): Uint8Array[] {
  const path: Uint8Array[] = [];
  let { height, index } = start;
  let width = 2 ** height;
  let last = Math.floor((size - 1) / width);
  for (; last > 0; height++, width *= 2, index = half(index), last = half(last)) {
    if (index % 2 === 1) path.push(reader.subtree(height, index - 1));
    else if (index + 1 < last) path.push(reader.subtree(height, index + 1));
    else if (index + 1 === last) {
      const first = last * width;
      let root = rightSide.get(first);
      if (root === undefined) {
        root = rangeRoot(reader, suite, first, size);
        rightSide.set(first, root);
      }
      path.push(root);
    }
    // Otherwise the node is the last one of its level and has no sibling.
  }
  return path;
}

/**
 * The root over the leaves from `start` up to `end`: their perfect subtrees, joined from the right. `start` must be a
 * multiple of a power of two that is at least end − start.
 */
function rangeRoot(reader: HashReader, suite: Suite, start: number, end: number): Uint8Array {
  let root: Uint8Array | undefined;
  let left = end - start;
  for (let height = 0, width = 1; left > 0; height++, width *= 2) {
    if (Math.floor(left / width) % 2 === 0) continue;
    left -= width;
    const peak = reader.subtree(height, (start + left) / width);
    root = root === undefined ? peak : nodeHash(suite, peak, root);
  }
  if (root === undefined) throw new RangeError('an empty range has no root');
  return root;
}

function half(n: number): number {
  return Math.floor(n / 2);
}

function checkSize(size: number): void {
  if (!Number.isSafeInteger(size) || size < 0) {
    throw outOfRange(`${String(size)} is not a size from 0 to 2^53 - 1`);
  }
}

function outOfRange(message: string): LogError {
  return new LogError('out_of_range', message);
}

// The RFC 6962 tree over a list in memory, such as the leaves of a clearing slot (log/FORMAT.md, Notation).

/** A tree over a list. */
export interface ListTree {
  readonly size: number;
  /** 32 bytes; `EMPTY_ROOT` for the empty list. */
  readonly root: Uint8Array;
  /** The inclusion path of a leaf, from the leaf to the root; throws `out_of_range` beyond the list. */
  readonly path: (index: number) => readonly Uint8Array[];
}

/** Makes the tree over a list of leaves, each given as the bytes that its leaf hash covers. */
export function listTree(leaves: readonly Uint8Array[]): ListTree {
  const layers = [leaves.map((leaf) => leafHash(native, leaf))];
  for (let below = layers[0]!; below.length > 1; below = layers.at(-1)!) {
    const layer: Uint8Array[] = [];
    // Only perfect subtrees are stored. The rest on the right is hashed when a root or a path needs it.
    for (let i = 0; i + 1 < below.length; i += 2) {
      layer.push(nodeHash(native, below[i]!, below[i + 1]!));
    }
    layers.push(layer);
  }
  const reader = {
    subtree(height: number, index: number): Uint8Array {
      const hash = layers[height]?.[index];
      if (hash === undefined) throw new Error(`the list has no subtree ${height}/${index}`);
      return hash;
    },
  };
  const size = leaves.length;
  return {
    size,
    root: rootAt(reader, native, size),
    path: (index) => inclusionPath(reader, index, size, native),
  };
}
