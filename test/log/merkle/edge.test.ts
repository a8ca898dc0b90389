// Tests of log/merkle/edge.ts.

import assert from 'node:assert/strict';

import fc from 'fast-check';
import { MerkleTree } from 'merkletreejs';

import { native } from '../../../log/crypto/native.ts';
import { concat } from '../../../log/encoding/bytes.ts';
import { RightEdge } from '../../../log/merkle/edge.ts';
import { EMPTY_ROOT } from '../../../log/merkle/hash.ts';
import { rootAt } from '../../../log/merkle/prove.ts';
import { TileHashes } from '../../../log/merkle/tile-hashes.ts';
import { tileWidth } from '../../../log/merkle/tile.ts';
import { Oracle, TileStore, someLeaves } from './oracle.ts';

const LARGE = 65_536;
const leaves = someLeaves(LARGE + 600);
const oracle = new Oracle(leaves);

/** The whole tree by merkletreejs. */
function wholeTree(size: number): Uint8Array {
  const tree = new MerkleTree(
    leaves.slice(0, size).map((leaf) => Buffer.from(leaf)),
    (pair: Buffer) => Buffer.from(native.sha256(concat(new Uint8Array([1]), pair))),
  );
  return new Uint8Array(tree.getRoot());
}

function grow(edge: RightEdge, to: number): void {
  for (const leaf of leaves.slice(edge.size, to)) edge.append(leaf);
}

describe('log/merkle/edge', () => {
  let large: RightEdge;
  const store = new TileStore();

  before(() => {
    large = new RightEdge();
    grow(large, LARGE - 3);
    store.take(large);
  });

  it('has the roots of RFC 6962 and of merkletreejs at sizes 0 to 600', () => {
    const edge = new RightEdge();
    assert.deepEqual(edge.root(), EMPTY_ROOT);
    for (let size = 1; size <= 600; size++) {
      grow(edge, size);
      assert.equal(edge.size, size);
      assert.deepEqual(edge.root(), oracle.root(size));
      assert.deepEqual(edge.root(), wholeTree(size));
    }
  });

  it('has the same roots around 65,536, where a tile of level 1 is full', () => {
    const edge = large.clone();
    for (let size = LARGE - 3; size <= LARGE + 3; size++) {
      grow(edge, size);
      assert.deepEqual(edge.root(), oracle.root(size), String(size));
    }
    assert.deepEqual(edge.root(), wholeTree(LARGE + 3));
    const tiles = new TileStore();
    tiles.take(edge);
    assert.deepEqual([...tiles.tiles.keys()], ['0/255', '1/0', '0/256', '2/0']);
    assert.equal(tiles.tiles.get('1/0')?.length, 256 * 32);
  });

  it('returns every changed tile once, with the hashes of its subtrees', () => {
    const steps = fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 6 });
    fc.assert(
      fc.property(steps, (counts) => {
        const edge = new RightEdge();
        const tiles = new TileStore();
        for (const count of counts) {
          const before = edge.size;
          grow(edge, before + count);
          const dirty = edge.takeDirty();
          for (const { level, n, hashes } of dirty) {
            const width = tileWidth(edge.size, level, n);
            assert.equal(hashes.length, width * 32);
            assert.ok(width > tileWidth(before, level, n), 'returns only tiles that changed');
            const leavesBelow = 256 ** level;
            for (let i = 0; i < width; i++) {
              const start = (n * 256 + i) * leavesBelow;
              assert.deepEqual(
                hashes.slice(i * 32, i * 32 + 32),
                oracle.range(start, start + leavesBelow),
              );
            }
            tiles.tiles.set(`${String(level)}/${String(n)}`, hashes);
          }
          assert.deepEqual(edge.takeDirty(), []);
          const reader = new TileHashes(tiles.read, () => edge.size);
          assert.deepEqual(rootAt(reader, native, edge.size), edge.root());
        }
      }),
      { numRuns: 25 },
    );
  });

  it('continues identically after a restore', () => {
    const sizes = [0, 1, 255, 256, 257, 511, 512, 600, LARGE - 3];
    for (const size of sizes) {
      const before = size === LARGE - 3 ? large.clone() : new RightEdge();
      const tiles = size === LARGE - 3 ? store : new TileStore();
      grow(before, size);
      tiles.take(before);
      const restored = RightEdge.restore(size, tiles.have);
      assert.equal(restored.size, size);
      assert.deepEqual(restored.root(), before.root());
      assert.deepEqual(restored.takeDirty(), []);
      grow(before, size + 300);
      grow(restored, size + 300);
      assert.deepEqual(restored.root(), oracle.root(size + 300));
      assert.deepEqual(restored.takeDirty(), before.takeDirty());
    }
  });

  it('refuses to restore from a truncated tile', () => {
    assert.throws(() => RightEdge.restore(5, () => new Uint8Array(4 * 32)), {
      name: 'LogError',
      code: 'store_corrupt',
    });
    assert.throws(() => RightEdge.restore(-1, () => new Uint8Array(0)), { code: 'out_of_range' });
  });

  it('clones into an independent edge', () => {
    const edge = new RightEdge();
    grow(edge, 250);
    const clone = edge.clone();
    grow(clone, 520);
    assert.deepEqual(edge.root(), oracle.root(250));
    assert.deepEqual(clone.root(), oracle.root(520));
    assert.deepEqual(
      edge.takeDirty().map(({ level, n, hashes }) => [level, n, hashes.length / 32]),
      [[0, 0, 250]],
    );
    assert.deepEqual(
      clone.takeDirty().map(({ level, n, hashes }) => [level, n, hashes.length / 32]),
      [
        [0, 0, 256],
        [0, 1, 256],
        [0, 2, 8],
        [1, 0, 2],
      ],
    );
  });

  it('accepts hashes only', () => {
    const edge = new RightEdge();
    assert.throws(() => edge.append(new Uint8Array(31)), RangeError);
    assert.equal(edge.size, 0);
  });
});
