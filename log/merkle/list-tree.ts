// The RFC 6962 tree over a list that is there as a whole, such as the leaves of a clearing slot: in memory,
// with a path for each leaf. log/FORMAT.md, Notation; RFC 9162 §2.1. Server only.

import { native } from '../crypto/native.ts';
import { leafHash, nodeHash } from './hash.ts';
import { inclusionPath, rootAt } from './prove.ts';

/** A tree over a list. */
export interface ListTree {
  readonly size: number;
  /** 32 bytes; SHA-256 of nothing for the empty list. */
  readonly root: Uint8Array;
  /** Siblings of a leaf on the way to the root, leaf side first; `out_of_range` beyond the list. */
  readonly path: (index: number) => readonly Uint8Array[];
}

/** Hashes the leaves, in their order; each is the bytes that its leaf hash is over. */
export function listTree(leaves: readonly Uint8Array[]): ListTree {
  const layers = [leaves.map((leaf) => leafHash(native, leaf))];
  for (let below = layers[0]!; below.length > 1; below = layers.at(-1)!) {
    const layer: Uint8Array[] = [];
    // Complete subtrees only: what is left over on the right is hashed when a root or path needs it.
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
