// A C2SP log that another implementation wrote: tiles, bundles and roots, byte for byte. Also the tree of the absence
// vectors of this project.

import assert from 'node:assert/strict';

import { native } from '../../../log/crypto/native.ts';
import { fromBase64, fromHex, utf8 } from '../../../log/encoding/bytes.ts';
import { encodeBundle, parseBundle, parseTilePath, tilePath } from '../../../log/merkle/tile.ts';
import { checkConsistency } from '../../../log/merkle/check.ts';
import { RightEdge } from '../../../log/merkle/edge.ts';
import { leafHash } from '../../../log/merkle/hash.ts';
import { consistencyPath, rootAt } from '../../../log/merkle/prove.ts';
import { TileHashes } from '../../../log/merkle/tile-hashes.ts';
import { ownVectors, sharedVectors } from '../../support/vectors.ts';
import { TileStore } from './oracle.ts';

interface Golden {
  entries: string[];
  checkpoints: Record<string, string>;
  tiles: Record<string, string>;
  entry_bundles: Record<string, string>;
}

describe('log/merkle: a log of tessera (needs ../shared/vectors/tlog-golden)', () => {
  const golden = sharedVectors('tlog-golden/log.json') as Golden | null;
  before(function () {
    if (golden === null) this.skip();
  });

  it('has its 15 tiles and bundles and the roots of its 16 checkpoints', () => {
    if (golden === null) return;
    const edge = new RightEdge();
    const entries: Uint8Array[] = [];
    const tiles: Record<string, Uint8Array> = {};
    const bundles: Record<string, Uint8Array> = {};
    const roots = [edge.root()];
    for (const entry of golden.entries.map(utf8)) {
      entries.push(entry);
      edge.append(leafHash(native, entry));
      roots.push(edge.root());
      bundles[tilePath('entries', 0, entries.length)] = encodeBundle(entries);
      for (const { level, n, hashes } of edge.takeDirty()) {
        tiles[tilePath(level, n, hashes.length / 32)] = hashes;
      }
    }
    assert.deepEqual(tiles, decoded(golden.tiles));
    assert.deepEqual(bundles, decoded(golden.entry_bundles));
    assert.equal(Object.keys(tiles).length, 15);
    const published = Object.entries(golden.checkpoints);
    assert.equal(published.length, 16);
    for (const [size, note] of published) {
      assert.deepEqual(roots[Number(size)], fromBase64(note.split('\n')[2] ?? '', 32), size);
    }
  });

  it('reads its paths and bundles', () => {
    for (const [path, text] of Object.entries(golden?.entry_bundles ?? {})) {
      const name = parseTilePath(path);
      assert.equal(name?.level, 'entries');
      const entries = golden?.entries.slice(0, name.width).map(utf8);
      assert.deepEqual(parseBundle(fromBase64(text)), entries);
    }
  });
});

describe('log/merkle: the log of the absence vectors', () => {
  const vectors = ownVectors('absence') as {
    entries: string[];
    leaf_hashes: string[];
    roots: string[];
    consistency: { from: number; to: number; path: string[] };
  };

  it('has its leaf hashes, its root at every size, and its consistency proof', () => {
    const edge = new RightEdge();
    const store = new TileStore();
    for (const [i, entry] of vectors.entries.entries()) {
      const hash = leafHash(native, utf8(entry));
      assert.deepEqual(hash, fromHex(vectors.leaf_hashes[i] ?? '', 32));
      edge.append(hash);
      assert.deepEqual(edge.root(), fromHex(vectors.roots[i] ?? '', 32));
    }
    assert.equal(edge.size, 20);
    store.take(edge);
    const reader = new TileHashes(store.read, () => edge.size);
    const { from, to } = vectors.consistency;
    const path = vectors.consistency.path.map((hash) => fromBase64(hash, 32));
    assert.deepEqual(consistencyPath(reader, from, to), path);
    const fromRoot = rootAt(reader, native, from);
    checkConsistency(native, { from, to, fromRoot, toRoot: edge.root(), path });
  });
});

function decoded(files: Record<string, string>): Record<string, Uint8Array> {
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [path, fromBase64(text)]));
}
