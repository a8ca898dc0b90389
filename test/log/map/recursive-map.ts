// The head map by the recursive definition of log/FORMAT.md §4, as an oracle for tests.

import { fromHex } from '../../../log/encoding/bytes.ts';
import type { MapProof } from '../../../log/map/check.ts';
import { mapHash, mapLeaf, mapPath, side } from '../../support/definitions.ts';

/** skey in hex → vhash in hex. */
export type NaiveMap = ReadonlyMap<string, string>;

interface Leaf {
  readonly skey: Uint8Array;
  readonly vhash: Uint8Array;
  readonly hash: Uint8Array;
}

export function naiveRoot(map: NaiveMap): Uint8Array {
  return mapHash(leavesOf(map), 0);
}

export function naiveProof(map: NaiveMap, skey: Uint8Array): MapProof {
  const { siblings, leaf } = mapPath(leavesOf(map), skey);
  return { siblings, leaf: leaf === null ? null : { skey: leaf.skey, vhash: leaf.vhash } };
}

/** The number of inner nodes of the map, including those with one child. */
export function naiveInner(map: NaiveMap): number {
  const count = (leaves: readonly Leaf[], d: number): number =>
    leaves.length < 2 ? 0 : 1 + count(side(leaves, d, 0), d + 1) + count(side(leaves, d, 1), d + 1);
  return count(leavesOf(map), 0);
}

function leavesOf(map: NaiveMap): Leaf[] {
  return [...map].map(([key, value]) => {
    const [skey, vhash] = [fromHex(key), fromHex(value)];
    return { skey, vhash, hash: mapLeaf(skey, vhash) };
  });
}
