// The log tree by the definitions of RFC 9162 §2.1, and the head map by the definition of log/FORMAT.md §4.

import { sha256, tagged } from './bytes.ts';

export const leafHash = (entry: Uint8Array): Buffer => tagged(0, entry);

const node = (left: Uint8Array, right: Uint8Array): Buffer => tagged(1, left, right);

/** MTH of §2.1.1. */
export function treeHash(leaves: readonly Uint8Array[]): Buffer {
  const [first] = leaves;
  if (first === undefined) return sha256();
  if (leaves.length === 1) return Buffer.from(first);
  const k = split(leaves.length);
  return node(treeHash(leaves.slice(0, k)), treeHash(leaves.slice(k)));
}

/** The largest power of two below n. */
function split(n: number): number {
  let k = 1;
  while (k * 2 < n) k *= 2;
  return k;
}

/** The hashes of a tile: roots of complete subtrees of 256^level leaves. */
export function tileHashes(
  leaves: readonly Uint8Array[],
  level: number,
  n: number,
  width: number,
): Buffer | null {
  const span = 256 ** level;
  const hashes: Buffer[] = [];
  for (let i = n * 256; i < n * 256 + width; i += 1) {
    if ((i + 1) * span > leaves.length) return null;
    hashes.push(treeHash(leaves.slice(i * span, (i + 1) * span)));
  }
  return Buffer.concat(hashes);
}

/** The root that an inclusion path gives; §2.1.3.2. */
export function rootOfInclusion(
  index: number,
  size: number,
  leaf: Uint8Array,
  path: readonly Uint8Array[],
): Buffer | null {
  let [fn, sn] = [index, size - 1];
  let hash: Buffer = Buffer.from(leaf);
  if (index >= size) return null;
  for (const sibling of path) {
    if (sn === 0) return null;
    if (fn % 2 === 1 || fn === sn) {
      hash = node(sibling, hash);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)];
    } else hash = node(hash, sibling);
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  return sn === 0 ? hash : null;
}

/** The two roots that a consistency path gives; §2.1.4.2. */
export function rootsOfConsistency(
  from: number,
  to: number,
  fromRoot: Uint8Array,
  path: readonly Uint8Array[],
): { readonly from: Buffer; readonly to: Buffer } | null {
  const whole = Number.isInteger(Math.log2(from)) ? [fromRoot, ...path] : path;
  let [fn, sn] = [from - 1, to - 1];
  while (fn % 2 === 1) [fn, sn] = [(fn - 1) / 2, Math.floor(sn / 2)];
  const [first, ...rest] = whole;
  if (first === undefined) return null;
  let older: Buffer = Buffer.from(first);
  let newer: Buffer = Buffer.from(first);
  for (const sibling of rest) {
    if (sn === 0) return null;
    if (fn % 2 === 1 || fn === sn) {
      [older, newer] = [node(sibling, older), node(sibling, newer)];
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)];
    } else newer = node(newer, sibling);
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  return sn === 0 ? { from: older, to: newer } : null;
}

/** A chain in the head map. */
export interface MapLeaf {
  readonly skey: Buffer;
  readonly vhash: Buffer;
}

export function mapHash(set: readonly MapLeaf[], depth = 0): Buffer {
  const [only] = set;
  if (only === undefined) return Buffer.alloc(32);
  if (set.length === 1) return tagged(2, only.skey, only.vhash);
  const bit = ({ skey }: MapLeaf): number => ((skey[depth >> 3] ?? 0) >> (7 - (depth & 7))) & 1;
  const [left, right] = [0, 1].map((side) =>
    mapHash(
      set.filter((leaf) => bit(leaf) === side),
      depth + 1,
    ),
  );
  return tagged(3, left ?? Buffer.alloc(32), right ?? Buffer.alloc(32));
}
