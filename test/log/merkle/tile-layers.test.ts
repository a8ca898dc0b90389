// Tests of log/merkle/tile-hashes.ts.

import assert from 'node:assert/strict';

import { concat } from '../../../log/encoding/bytes.ts';
import { tileLayers } from '../../../log/merkle/tile-hashes.ts';
import { Oracle, someLeaves } from './oracle.ts';

describe('log/merkle/tile-hashes: one tile', () => {
  const leaves = someLeaves(256);
  const oracle = new Oracle(leaves);

  it('has the root and every complete subtree for every width', () => {
    for (let width = 1; width <= 256; width++) {
      const layers = tileLayers(concat(...leaves.slice(0, width)));
      assert.equal(layers.width, width);
      assert.deepEqual(layers.root, oracle.root(width));
      for (let height = 0; 1 << height <= width; height++) {
        for (let index = 0; (index + 1) << height <= width; index++) {
          const expected = oracle.range(index << height, (index + 1) << height);
          assert.deepEqual(layers.node(height, index), expected);
        }
        assert.throws(() => layers.node(height, width >> height), RangeError);
      }
      assert.throws(() => layers.node(0, -1), RangeError);
    }
  });

  it('returns copies, and keeps no reference to its input', () => {
    const hashes = concat(...leaves.slice(0, 3));
    const layers = tileLayers(hashes);
    hashes.fill(0);
    layers.node(0, 0).fill(0);
    layers.root.fill(0);
    assert.deepEqual(layers.node(0, 0), leaves[0]);
    assert.deepEqual(layers.root, oracle.root(3));
  });

  it('refuses invalid tiles', () => {
    for (const length of [0, 31, 33, 257 * 32]) {
      assert.throws(() => tileLayers(new Uint8Array(length)), RangeError);
    }
  });
});
