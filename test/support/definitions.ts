// The trees by their recursive definitions: slow, and independent of the code under test.

import { native } from '../../log/crypto/native.ts';
import { concat, u8 } from '../../log/encoding/bytes.ts';
import { nodeHash } from '../../log/merkle/hash.ts';

/** A leaf of the map by its key, and its hash. */
export interface HashedLeaf {
  readonly skey: Uint8Array;
  readonly hash: Uint8Array;
}

/** Hash of a leaf of the map (log/FORMAT.md §4). */
export const mapLeaf = (skey: Uint8Array, vhash: Uint8Array): Uint8Array =>
  native.sha256(concat(u8(2), skey, vhash));

/** Hash of a node of the map. */
export const mapNode = (left: Uint8Array, right: Uint8Array): Uint8Array =>
  native.sha256(concat(u8(3), left, right));

/** The d-th binary digit, most significant first, as the format defines it. */
function bit(key: Uint8Array, d: number): number {
  const byte = key[Math.floor(d / 8)] ?? 0;
  return Number(byte.toString(2).padStart(8, '0')[d % 8]);
}

/** The leaves on one side of depth d. */
export const side = <L extends HashedLeaf>(leaves: readonly L[], d: number, wanted: number): L[] =>
  leaves.filter(({ skey }) => bit(skey, d) === wanted);

/** Root of the part of the map below depth d. */
export function mapHash(leaves: readonly HashedLeaf[], d: number): Uint8Array {
  const [first] = leaves;
  if (first === undefined) return new Uint8Array(32);
  if (leaves.length === 1) return first.hash;
  return mapNode(mapHash(side(leaves, d, 0), d + 1), mapHash(side(leaves, d, 1), d + 1));
}

/** The siblings of a slot from the root down, null for an empty map, and the leaf in the slot. */
export function mapPath<L extends HashedLeaf>(
  all: readonly L[],
  skey: Uint8Array,
): { readonly siblings: readonly (Uint8Array | null)[]; readonly leaf: L | null } {
  const siblings: (Uint8Array | null)[] = [];
  let leaves = all;
  while (leaves.length > 1) {
    const d = siblings.length;
    const own = bit(skey, d);
    const others = side(leaves, d, 1 - own);
    siblings.push(others.length === 0 ? null : mapHash(others, d + 1));
    leaves = side(leaves, d, own);
  }
  return { siblings, leaf: leaves[0] ?? null };
}

function half(n: number): number {
  let k = 1;
  while (2 * k < n) k *= 2;
  return k;
}

/** Root of a log tree over leaf hashes (RFC 9162 §2.1.1). */
export function treeHash(leaves: readonly Uint8Array[]): Uint8Array {
  const [first] = leaves;
  if (first === undefined) return native.sha256(new Uint8Array(0));
  if (leaves.length === 1) return first;
  const k = half(leaves.length);
  return nodeHash(native, treeHash(leaves.slice(0, k)), treeHash(leaves.slice(k)));
}

/** Inclusion path of a leaf, leaf side first (RFC 9162 §2.1.3.1). */
export function pathOf(leaves: readonly Uint8Array[], index: number): Uint8Array[] {
  if (leaves.length <= 1) return [];
  const k = half(leaves.length);
  return index < k
    ? [...pathOf(leaves.slice(0, k), index), treeHash(leaves.slice(k))]
    : [...pathOf(leaves.slice(k), index - k), treeHash(leaves.slice(0, k))];
}
