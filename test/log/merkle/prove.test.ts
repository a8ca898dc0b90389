// Tests of log/merkle/prove.ts.

import assert from 'node:assert/strict';

import fc from 'fast-check';

import { native } from '../../../log/crypto/native.ts';
import { checkConsistency, checkInclusion } from '../../../log/merkle/check.ts';
import { RightEdge } from '../../../log/merkle/edge.ts';
import type { HashReader } from '../../../log/merkle/prove.ts';
import { consistencyPath, inclusionPath, rootAt } from '../../../log/merkle/prove.ts';
import { TileHashes } from '../../../log/merkle/tile-hashes.ts';
import { Oracle, TileStore, someLeaves } from './oracle.ts';

const LARGE = 65_536 + 300;
const leaves = someLeaves(LARGE);
const oracle = new Oracle(leaves);
const outOfRange = { name: 'LogError', code: 'out_of_range' };

describe('log/merkle/prove', () => {
  let reader: HashReader;

  before(() => {
    const store = new TileStore();
    const edge = new RightEdge();
    for (const leaf of leaves) edge.append(leaf);
    store.take(edge);
    reader = new TileHashes(store.read, () => LARGE);
  });

  it('gives the proofs of RFC 6962 at sizes 0 to 600', () => {
    for (let size = 0; size <= 600; size++) {
      assert.deepEqual(rootAt(reader, native, size), oracle.root(size));
      // All indexes and older sizes of small trees; in larger ones those near powers of two and the end.
      const step = size <= 66 ? 1 : 31;
      for (let i = 0; i <= size; i += i > size - 4 ? 1 : step) {
        assert.deepEqual(consistencyPath(reader, i, size), oracle.consistency(i, size));
        if (i === size) continue;
        assert.deepEqual(inclusionPath(reader, i, size), oracle.inclusion(i, size));
      }
    }
  });

  it('gives them around 65,536', () => {
    const near = [1, 255, 256, 257, 32_768, 65_279, 65_280, 65_535, 65_536, 65_537, 65_792, LARGE];
    for (const size of near) {
      assert.deepEqual(rootAt(reader, native, size), oracle.root(size));
      for (const older of near.filter((n) => n <= size)) {
        assert.deepEqual(consistencyPath(reader, older, size), oracle.consistency(older, size));
        const index = older - 1;
        assert.deepEqual(inclusionPath(reader, index, size), oracle.inclusion(index, size));
      }
    }
  });

  it('gives proofs that the checks accept, for any index and sizes', () => {
    const pair = fc.tuple(fc.integer({ min: 1, max: LARGE }), fc.nat()).map(([size, n]) => ({
      size,
      index: n % size,
    }));
    fc.assert(
      fc.property(pair, ({ size, index }) => {
        const root = rootAt(reader, native, size);
        const leafHash = leaves[index] ?? new Uint8Array(0);
        const path = inclusionPath(reader, index, size);
        checkInclusion(native, { index, size, leafHash, path, root });
        checkConsistency(native, {
          from: index,
          to: size,
          fromRoot: rootAt(reader, native, index),
          toRoot: root,
          path: consistencyPath(reader, index, size),
        });
      }),
      { numRuns: 300 },
    );
  });

  it('works at sizes above 32 bits', () => {
    // A tree of equal leaves: all complete subtrees of a height have the same hash.
    const same: Uint8Array[] = [leaves[0] ?? new Uint8Array(32)];
    const huge: HashReader = {
      subtree(height, index) {
        assert.ok(Number.isSafeInteger(index) && (index + 1) * 2 ** height <= 2 ** 53);
        for (let h = same.length; h <= height; h++) {
          const below = new Oracle([
            same[h - 1] ?? leaves[0],
            same[h - 1] ?? leaves[0],
          ] as Uint8Array[]);
          same.push(below.root(2));
        }
        return same[height] ?? new Uint8Array(0);
      },
    };
    const size = fc.bigInt({ min: 1n, max: BigInt(Number.MAX_SAFE_INTEGER) }).map(Number);
    fc.assert(
      fc.property(size, fc.maxSafeNat(), (to, n) => {
        const index = n % to;
        const root = rootAt(huge, native, to);
        const leafHash = huge.subtree(0, 0);
        const path = inclusionPath(huge, index, to);
        checkInclusion(native, { index, size: to, leafHash, path, root });
        const fromRoot = rootAt(huge, native, index);
        checkConsistency(native, {
          from: index,
          to,
          fromRoot,
          toRoot: root,
          path: consistencyPath(huge, index, to),
        });
      }),
      { numRuns: 200 },
    );
  });

  it('refuses indexes and sizes outside the tree', () => {
    assert.throws(() => inclusionPath(reader, 5, 5), outOfRange);
    assert.throws(() => inclusionPath(reader, -1, 5), outOfRange);
    assert.throws(() => inclusionPath(reader, 0.5, 5), outOfRange);
    assert.throws(() => inclusionPath(reader, 0, 0), outOfRange);
    assert.throws(() => inclusionPath(reader, 0, LARGE + 1), outOfRange);
    assert.throws(() => consistencyPath(reader, 6, 5), outOfRange);
    assert.throws(() => consistencyPath(reader, -1, 5), outOfRange);
    assert.throws(() => rootAt(reader, native, 2 ** 53), outOfRange);
    assert.throws(() => rootAt(reader, native, NaN), outOfRange);
  });
});
