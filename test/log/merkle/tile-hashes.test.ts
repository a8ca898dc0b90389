// Tests of log/merkle/tile-hashes.ts.

import assert from 'node:assert/strict';

import { native } from '../../../log/crypto/native.ts';
import { RightEdge } from '../../../log/merkle/edge.ts';
import { inclusionPath, rootAt } from '../../../log/merkle/prove.ts';
import { TileHashes } from '../../../log/merkle/tile-hashes.ts';
import { Oracle, TileStore, someLeaves } from './oracle.ts';

const leaves = someLeaves(1500);
const oracle = new Oracle(leaves);

describe('log/merkle/tile-hashes', () => {
  it('follows a growing tree', () => {
    const edge = new RightEdge();
    const store = new TileStore();
    let size = 0;
    const hashes = new TileHashes(store.read, () => size);
    for (const leaf of leaves) {
      edge.append(leaf);
      if (edge.size % 97 !== 0) continue;
      store.take(edge);
      // Tiles are stored before the size is published; nothing beyond the published size is read.
      assert.throws(() => rootAt(hashes, native, edge.size), { code: 'out_of_range' });
      size = edge.size;
      assert.deepEqual(rootAt(hashes, native, size), oracle.root(size));
      assert.deepEqual(inclusionPath(hashes, size - 1, size), oracle.inclusion(size - 1, size));
      assert.deepEqual(inclusionPath(hashes, 0, size), oracle.inclusion(0, size));
    }
  });

  it('reads a tile once if the cache is large enough, and again otherwise', () => {
    const edge = new RightEdge();
    for (const leaf of leaves) edge.append(leaf);
    const store = new TileStore();
    store.take(edge);
    const readsOf = (cacheBytes: number): number => {
      let reads = 0;
      const counted = (level: number, n: number, width: number) => {
        reads++;
        return store.read(level, n, width);
      };
      const hashes = new TileHashes(counted, () => 1500, cacheBytes);
      for (let i = 0; i < 3000; i += 250) inclusionPath(hashes, i % 1500, 1500);
      return reads;
    };
    // Six tiles of leaf hashes and one above them.
    assert.equal(readsOf(1024 * 1024), 7);
    assert.ok(readsOf(32 * 1024) > 7);
  });

  it('reports a missing or truncated tile', () => {
    const corrupt = { name: 'LogError', code: 'store_corrupt' };
    assert.throws(
      () =>
        new TileHashes(
          () => null,
          () => 10,
        ).subtree(0, 3),
      corrupt,
    );
    const short = new TileHashes(
      () => new Uint8Array(9 * 32),
      () => 10,
    );
    assert.throws(() => short.subtree(0, 3), corrupt);
  });

  it('returns whole tiles, and detects a full tile that contradicts the tile above it', () => {
    const edge = new RightEdge();
    for (const leaf of leaves) edge.append(leaf);
    const store = new TileStore();
    store.take(edge);
    const hashes = new TileHashes(store.read, () => 1500);
    assert.deepEqual(hashes.tile(0, 1, 200), store.read(0, 1, 200));
    assert.deepEqual(hashes.tile(1, 0, 5), store.read(1, 0, 5));
    assert.throws(() => hashes.tile(1, 0, 6), { code: 'out_of_range' });
    const damaged = store.read(0, 1, 256)?.fill(0, 40, 41);
    assert.ok(damaged);
    store.tiles.set('0/1', damaged);
    const after = new TileHashes(store.read, () => 1500);
    assert.throws(() => after.subtree(0, 256), { code: 'store_corrupt' });
  });
});
