// The trees by their recursive definitions: slow, and independent of what is tested.

import { native } from '../../log/crypto/native.ts';
import { concat, u8 } from '../../log/encoding/bytes.ts';
import { bitAt } from '../../log/map/check.ts';
import { nodeHash } from '../../log/merkle/hash.ts';

/** Hash of a node of the map (formats.md §4). */
export const mapNode = (left: Uint8Array, right: Uint8Array): Uint8Array =>
  native.sha256(concat(u8(3), left, right));

/** Root of the part of the map below depth d (formats.md §4). */
export function mapHash(
  leaves: readonly { skey: Uint8Array; hash: Uint8Array }[],
  d: number,
): Uint8Array {
  const [first, ...others] = leaves;
  if (first === undefined) return new Uint8Array(32);
  if (others.length === 0) return first.hash;
  const side = (bit: number): Uint8Array =>
    mapHash(
      leaves.filter((leaf) => bitAt(leaf.skey, d) === bit),
      d + 1,
    );
  return mapNode(side(0), side(1));
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
