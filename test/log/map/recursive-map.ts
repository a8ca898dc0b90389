// The head map by its definition (formats.md §4), as an oracle: no trie, no storage, just the recursion.

import { native } from '../../../log/crypto/native.ts';
import { concat, fromHex, toHex, u8 } from '../../../log/encoding/bytes.ts';
import type { MapProof } from '../../../log/map/check.ts';

/** skey in hex → vhash in hex. */
export type NaiveMap = ReadonlyMap<string, string>;

type Leaf = readonly [skey: Uint8Array, vhash: Uint8Array];

export function naiveRoot(map: NaiveMap): Uint8Array {
  return mapHash(leavesOf(map), 0);
}

export function naiveProof(map: NaiveMap, skey: Uint8Array): MapProof {
  const siblings: (Uint8Array | null)[] = [];
  let leaves = leavesOf(map);
  while (leaves.length > 1) {
    const d = siblings.length;
    const other = leaves.filter(([key]) => bit(key, d) !== bit(skey, d));
    siblings.push(other.length === 0 ? null : mapHash(other, d + 1));
    leaves = leaves.filter(([key]) => bit(key, d) === bit(skey, d));
  }
  const [leaf] = leaves;
  return { siblings, leaf: leaf === undefined ? null : { skey: leaf[0], vhash: leaf[1] } };
}

/** How many inner nodes the map has, single-child ones too. */
export function naiveInner(map: NaiveMap): number {
  const count = (leaves: readonly Leaf[], d: number): number =>
    leaves.length < 2 ? 0 : 1 + count(side(leaves, d, 0), d + 1) + count(side(leaves, d, 1), d + 1);
  return count(leavesOf(map), 0);
}

function mapHash(leaves: readonly Leaf[], d: number): Uint8Array {
  const [first] = leaves;
  if (first === undefined) return new Uint8Array(32);
  if (leaves.length === 1) return native.sha256(concat(u8(2), ...first));
  const left = mapHash(side(leaves, d, 0), d + 1);
  const right = mapHash(side(leaves, d, 1), d + 1);
  return native.sha256(concat(u8(3), left, right));
}

function side(leaves: readonly Leaf[], d: number, wanted: number): Leaf[] {
  return leaves.filter(([key]) => bit(key, d) === wanted);
}

function leavesOf(map: NaiveMap): Leaf[] {
  return [...map].map(([skey, vhash]) => [fromHex(skey), fromHex(vhash)]);
}

/** By the words of the format, not by the code under test: the d-th binary digit, most significant first. */
function bit(key: Uint8Array, d: number): number {
  const byte = Number.parseInt(toHex(key).slice(2 * (d >> 3), 2 * (d >> 3) + 2), 16);
  return Number(byte.toString(2).padStart(8, '0')[d % 8]);
}
