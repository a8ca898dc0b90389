// The order in which a log is published, what the store contains after a failed write, and what is refused.

import assert from 'node:assert/strict';
import { TilePublisher } from '../../../log/index.ts';
import type { TileStore } from '../../../log/index.ts';
import { parseCheckpoint } from '../../../log/note/checkpoint.ts';
import { splitNote } from '../../../log/note/note.ts';
import { tilePath, tileWidth } from '../../../log/merkle/tile.ts';
import type { Mirror } from '../../../log/operate/mirror.ts';
import { GrowingTree } from '../../support/growing-tree.ts';
import { MemoryTiles } from '../../support/memory-tiles.ts';
import { grown, TreeMirror } from '../../support/tree-mirror.ts';

const HOUR_MS = 3_600_000;

/** A source whose log a test can replace by a larger one. */
class Source implements Mirror {
  readonly name = 'the log';
  now: TreeMirror;

  constructor(first: TreeMirror) {
    this.now = first;
  }

  checkpoint(): Promise<string> {
    return this.now.checkpoint();
  }

  tile(level: number, n: number, width: number): Promise<Uint8Array> {
    return this.now.tile(level, n, width);
  }

  bundle(n: number, width: number): Promise<readonly Uint8Array[]> {
    return this.now.bundle(n, width);
  }
}

const publisherOf = (source: Mirror, store: TileStore, vkey: string, now = Date.now) =>
  new TilePublisher({ source, store, vkey, reread: false, now });

/** The paths of all files that a checkpoint of this size implies. */
function implied(size: number): string[] {
  const paths: string[] = [];
  const add = (level: number | 'entries'): boolean => {
    let n = 0;
    for (; tileWidth(size, level === 'entries' ? 0 : level, n) > 0; n += 1) {
      paths.push(tilePath(level, n, tileWidth(size, level === 'entries' ? 0 : level, n)));
    }
    return n > 0;
  };
  add('entries');
  for (let level = 0; add(level); level += 1);
  return paths;
}

/** Asserts that the store has every file that its checkpoint implies, full or partial. */
function assertWhole(store: MemoryTiles): number {
  const note = store.files.get('checkpoint');
  if (note === undefined) return 0;
  const { size } = parseCheckpoint(splitNote(Buffer.from(note.bytes).toString()).text);
  for (const path of implied(size)) {
    const full = path.replace(/\.p\/\d+$/, '');
    assert.ok(store.files.has(path) || store.files.has(full), `${path} of ${String(size)}`);
  }
  return size;
}

describe('the tile publisher', () => {
  it('stores full tiles, then partial ones, then the checkpoint', async () => {
    const store = new MemoryTiles();
    const mirror = grown([600, 'leaf']);
    await publisherOf(mirror, store, mirror.tree.vkey).step();
    assert.deepEqual([...store.writes].sort(), [...implied(600), 'checkpoint'].sort());
    assert.equal(store.writes.at(-1), 'checkpoint');
    const first = store.writes.findIndex((path) => path.includes('.p/'));
    assert.ok(store.writes.slice(0, first).every((path) => !path.includes('.p/')));
    assert.ok(store.writes.slice(first, -1).every((path) => path.includes('.p/')));
  });

  it('writes only new files as the log grows', async () => {
    const source = new Source(grown([300, 'leaf']));
    const store = new MemoryTiles();
    const publisher = publisherOf(source, store, source.now.tree.vkey);
    await publisher.step();
    assert.equal((await publisher.step()).fetched, 0);
    store.writes.length = 0;
    source.now = grown([310, 'leaf']);
    assert.equal((await publisher.step()).fetched, 10);
    assert.deepEqual(
      [...store.writes].sort(),
      ['tile/0/001.p/54', 'tile/entries/001.p/54', 'checkpoint'].sort(),
    );
    for (const size of [511, 512, 513, 900]) {
      source.now = grown([size, 'leaf']);
      await publisher.step();
      assert.equal(assertWhole(store), size);
    }
  });

  it('publishes a note of the same size that has more cosignatures', async () => {
    const source = new Source(grown([5, 'leaf']));
    const store = new MemoryTiles();
    const publisher = publisherOf(source, store, source.now.tree.vkey);
    await publisher.step();
    const note = `${source.now.tree.note()}— witness.example/w ${Buffer.alloc(76, 1).toString('base64')}\n`;
    source.now.checkpoint = async () => note;
    await publisher.step();
    assert.equal(await store.checkpoint(), note);
  });

  it('continues after any failed write, and never stores a checkpoint before its tiles', async () => {
    for (const effective of [false, true]) {
      for (let failing = 0; ; failing += 1) {
        const source = new Source(grown([300, 'leaf']));
        const store = new MemoryTiles();
        Object.assign(store, { left: failing, effective });
        const failures: unknown[] = [];
        for (const size of [300, 514, 700]) {
          source.now = grown([size, 'leaf']);
          // A new process each time: it knows only what is in the store.
          const publisher = publisherOf(source, store, source.now.tree.vkey);
          await publisher.step().catch((error: unknown) => failures.push(error));
          assertWhole(store);
          await publisher.step();
          assert.equal(assertWhole(store), size);
        }
        for (const error of failures) assert.match(String(error), /the write failed/);
        if (failures.length === 0) break;
      }
    }
  });

  it('continues an interrupted first upload after its full tiles of level 1', async () => {
    const mirror = grown([65_536 + 600, 'leaf']);
    const store = new MemoryTiles();
    // The bundles and tiles of level 0 under the first tile of level 1, that tile, and one more.
    store.left = 256 * 2 + 2;
    await assert.rejects(publisherOf(mirror, store, mirror.tree.vkey).step(), /the write failed/);
    assert.ok(store.files.has('tile/1/000'));
    assert.equal(await store.checkpoint(), null);
    const { fetched } = await publisherOf(mirror, store, mirror.tree.vkey).step();
    assert.equal(fetched, 600);
    assert.equal(assertWhole(store), 65_536 + 600);
  });

  it('removes a partial tile an hour after its full tile was stored, also one of an earlier process', async () => {
    let now = 1_000_000;
    const source = new Source(grown([100, 'leaf']));
    const store = new MemoryTiles(() => now);
    const first = publisherOf(source, store, source.now.tree.vkey, () => now);
    await first.step();
    now += 2 * HOUR_MS;
    assert.equal(await first.removeSuperseded(), 0, 'there is no full tile yet');
    source.now = grown([300, 'leaf']);
    await first.step();
    now += HOUR_MS - 1;
    assert.equal(await first.removeSuperseded(), 0);
    const second = publisherOf(source, store, source.now.tree.vkey, () => now);
    await second.findPartials();
    assert.equal(await second.removeSuperseded(), 0);
    now += 1;
    assert.equal(await second.removeSuperseded(), 2);
    assert.equal(await first.removeSuperseded(), 2, 'removing a missing file is not an error');
    assert.deepEqual(
      [...store.files.keys()].filter((path) => path.includes('.p/')).sort(),
      implied(300)
        .filter((path) => path.includes('.p/'))
        .sort(),
    );
    assertWhole(store);
  });

  it('refuses a fork at the checkpoint, at a tile, and at a tile of level 1', async () => {
    const honest = grown([700, 'leaf']);
    const store = new MemoryTiles();
    await publisherOf(honest, store, honest.tree.vkey).step();
    const writes = store.writes.length;
    for (const fork of [grown([700, 'other']), grown([600, 'leaf'], [300, 'other'])]) {
      await assert.rejects(publisherOf(fork, store, fork.tree.vkey).step(), {
        name: 'TilesRefused',
        code: 'fork',
        message: /prove a fork/,
      });
    }
    store.files.delete('checkpoint');
    const fork = grown([256, 'leaf'], [600, 'other']);
    await assert.rejects(publisherOf(fork, store, fork.tree.vkey).step(), {
      code: 'fork',
      message: /has other bytes at tile\/(entries|0)\/001/,
    });
    assert.equal(await store.checkpoint(), null, 'no checkpoint of the fork was stored');
    assert.equal(store.writes.slice(writes).includes('checkpoint'), false);
    const large = grown([65_536, 'leaf']);
    store.files.set('tile/1/000', { bytes: new Uint8Array(8192), at_ms: 0 });
    await assert.rejects(publisherOf(large, store, large.tree.vkey).step(), {
      code: 'fork',
      message: /tile\/1\/000/,
    });
  });

  it('refuses a store that is ahead or of another log, and entries that do not match the root', async () => {
    const store = new MemoryTiles();
    const mirror = grown([700, 'leaf']);
    await publisherOf(mirror, store, mirror.tree.vkey).step();
    const behind = grown([300, 'leaf']);
    await assert.rejects(publisherOf(behind, store, behind.tree.vkey).step(), { code: 'behind' });
    const tree = new GrowingTree('other.example', 51).grow(900);
    const other = new TreeMirror(tree, new Array<string>(900).fill('leaf'));
    await assert.rejects(publisherOf(other, store, tree.vkey).step(), { code: 'foreign' });
    const liar = grown([600, 'leaf']);
    liar.bundle = async (_, width) => new Array<Uint8Array>(width).fill(Buffer.from('lie'));
    const empty = new MemoryTiles();
    await assert.rejects(publisherOf(liar, empty, liar.tree.vkey).step(), { code: 'unproven' });
    assert.ok(!empty.writes.includes('checkpoint'));
  });
});
