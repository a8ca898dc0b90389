// A fold in a thread and inline: it gives the same results as the trie, in the order of the calls.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { native } from '../../../log/crypto/native.ts';
import { concat, utf8 } from '../../../log/encoding/bytes.ts';
import { openFold, packProofs, unpackProofs } from '../../../log/map/fold.ts';
import type { FoldHost } from '../../../log/map/fold.ts';
import { HeadTrie } from '../../../log/map/trie.ts';

const sha = (text: string): Uint8Array => native.sha256(utf8(text));

function updates(from: number, to: number, value = 'v'): Uint8Array {
  const parts: Uint8Array[] = [];
  for (let i = from; i < to; i++) parts.push(sha(`k${String(i)}`), sha(`${value}${String(i)}`));
  return concat(...parts);
}

/** A trie with the same updates. */
function trieOf(...batches: readonly Uint8Array[]): HeadTrie {
  const trie = new HeadTrie();
  for (const batch of batches) {
    for (let at = 0; at < batch.length; at += 64) {
      trie.set(batch.subarray(at, at + 32), batch.subarray(at + 32, at + 64));
    }
  }
  return trie;
}

for (const threads of [true, false]) {
  describe(`map/fold: ${threads ? 'in a thread' : 'inline'}`, () => {
    let host: FoldHost;
    let folder: string;

    beforeEach(() => {
      host = openFold({ threads });
      folder = mkdtempSync(join(tmpdir(), 'actlog-fold-'));
    });

    afterEach(async () => {
      await host.close();
      rmSync(folder, { recursive: true });
    });

    it('begins with the empty map', async () => {
      const cut = await host.trie('live').cut();
      assert.deepEqual([cut.root, cut.keys], [new Uint8Array(32), 0]);
    });

    it('cuts a version with exactly the updates before it', async () => {
      const fold = host.trie('live');
      fold.apply(updates(0, 3000));
      const first = fold.cut();
      fold.apply(updates(2000, 4000, 'w'));
      const second = fold.cut();
      assert.deepEqual((await first).root, trieOf(updates(0, 3000)).root());
      assert.deepEqual(
        (await second).root,
        trieOf(updates(0, 3000), updates(2000, 4000, 'w')).root(),
      );
      assert.deepEqual([(await first).keys, (await second).keys], [3000, 4000]);
    });

    it('accepts a part of an array, and leaves the rest of the array unchanged', async () => {
      const fold = host.trie('live');
      const all = updates(0, 10);
      fold.apply(all.subarray(64, 128));
      assert.deepEqual(all, updates(0, 10));
      assert.deepEqual((await fold.cut()).root, trieOf(updates(1, 2)).root());
    });

    it('refuses updates that are not a multiple of 64 bytes', async () => {
      const fold = host.trie('live');
      assert.throws(() => {
        fold.apply(new Uint8Array(65));
      }, /65 bytes/u);
      assert.equal((await fold.cut()).keys, 0);
    });

    it('proves from a cut version while the map changes', async () => {
      const fold = host.trie('live');
      fold.apply(updates(0, 500));
      const { version } = await fold.cut();
      fold.apply(updates(0, 1000, 'w'));
      const later = await fold.cut();
      const asked = ['k1', 'k499', 'k700', 'missing'].map(sha);
      const trie = trieOf(updates(0, 500));
      const { id } = trie.freeze();
      assert.deepEqual(
        await fold.prove(version, asked),
        asked.map((skey) => trie.prove(id, skey)),
      );
      const moved = trieOf(updates(0, 500), updates(0, 1000, 'w'));
      const movedId = moved.freeze().id;
      assert.deepEqual(
        await fold.prove(later.version, asked),
        asked.map((skey) => moved.prove(movedId, skey)),
      );
    });

    it('forgets a released version after the next cut; releasing it twice is harmless', async () => {
      const fold = host.trie('live');
      fold.apply(updates(0, 10));
      const { version } = await fold.cut();
      fold.release(version);
      fold.release(version);
      fold.apply(updates(10, 20));
      const later = await fold.cut();
      // Requested in one turn for two versions, one of which was released: each call gets its own result.
      const [gone, both, one, none] = await Promise.allSettled([
        fold.prove(version, [sha('k1')]),
        fold.prove(later.version, [sha('k2'), sha('k1')]),
        fold.prove(later.version, [sha('k1')]),
        fold.prove(later.version, []),
      ]);
      assert.equal(gone.status, 'rejected');
      assert.ok(both.status === 'fulfilled' && both.value.length === 2);
      assert.deepEqual(one, { status: 'fulfilled', value: both.value.slice(1) });
      assert.deepEqual(none, { status: 'fulfilled', value: [] });
      await assert.rejects(fold.prove(version, [sha('k1')]), {
        name: 'LogError',
        code: 'out_of_range',
      });
      assert.equal((await fold.prove(later.version, [sha('k1')])).length, 1);
    });

    it('keeps maps of two names separate', async () => {
      const live = host.trie('live');
      const sandbox = host.trie('sandbox');
      live.apply(updates(0, 10));
      sandbox.apply(updates(0, 20));
      assert.equal((await live.cut()).keys, 10);
      assert.equal((await sandbox.cut()).keys, 20);
      await live.close();
      assert.equal((await sandbox.cut()).keys, 20);
    });

    it('saves the last cut, regardless of later updates and cuts', async () => {
      const fold = host.trie('live');
      const path = join(folder, 'map');
      fold.apply(updates(0, 20_000));
      const { version, root } = await fold.cut();
      fold.apply(updates(0, 100, 'after the cut'));
      const saving = fold.save(path, 20_001);
      fold.release(version);
      fold.apply(updates(100, 30_000, 'w'));
      const next = await fold.cut();
      await saving;
      assert.notDeepEqual(next.root, root);

      const again = host.trie('again');
      assert.deepEqual(await again.load(path), { covered: 20_001, root });
      again.apply(updates(0, 100, 'after the cut'));
      again.apply(updates(100, 30_000, 'w'));
      assert.deepEqual(await again.cut(), { ...next, version: 1 });
    });

    it('saves one snapshot after the other', async () => {
      const fold = host.trie('live');
      const path = join(folder, 'map');
      fold.apply(updates(0, 9000));
      await fold.cut();
      const first = fold.save(path, 1);
      fold.apply(updates(0, 9000, 'w'));
      const { root } = await fold.cut();
      await Promise.all([first, fold.save(path, 2)]);
      assert.deepEqual(await host.trie('again').load(path), { covered: 2, root });
    });

    it('loads nothing from a missing or damaged file, and remains usable', async () => {
      const fold = host.trie('live');
      const path = join(folder, 'map');
      assert.equal(await fold.load(path), null);
      writeFileSync(path, 'no snapshot');
      assert.equal(await fold.load(path), null);
      fold.apply(updates(0, 10));
      assert.equal((await fold.cut()).keys, 10);
    });

    it('refuses to load into a map that is not empty, and to save without a cut', async () => {
      const fold = host.trie('live');
      await assert.rejects(fold.save(join(folder, 'map'), 1), /no cut/u);
      fold.apply(updates(0, 1));
      await assert.rejects(fold.load(join(folder, 'map')), /not empty/u);
    });

    it('rejects a save that the file system refuses, and can save again', async () => {
      const fold = host.trie('live');
      fold.apply(updates(0, 10));
      const { root } = await fold.cut();
      await assert.rejects(fold.save(join(folder, 'none', 'map'), 1), /ENOENT/u);
      await fold.save(join(folder, 'map'), 2);
      assert.deepEqual(await host.trie('again').load(join(folder, 'map')), { covered: 2, root });
    });

    it('waits on close for calls in progress', async () => {
      const own = openFold({ threads });
      const fold = own.trie('live');
      fold.apply(updates(0, 9000));
      const cut = fold.cut();
      const saving = cut.then(() => fold.save(join(folder, 'map'), 1));
      await cut;
      await own.close();
      await saving;
      const { root } = await cut;
      assert.deepEqual(await host.trie('again').load(join(folder, 'map')), { covered: 1, root });
    });
  });
}

describe('map/fold: thread', () => {
  it('rejects calls after it ended', async () => {
    const host = openFold({ threads: true });
    const fold = host.trie('live');
    await fold.cut();
    await host.close();
    await assert.rejects(fold.cut(), { name: 'LogError', code: 'log_unavailable' });
  });

  it('transfers proofs unchanged', () => {
    const trie = trieOf(updates(0, 200));
    const { id } = trie.freeze();
    const proofs = ['k1', 'k2', 'x', 'y', 'z'].map((name) => trie.prove(id, sha(name)));
    assert.deepEqual(unpackProofs(packProofs(proofs)), proofs);
    const empty = [
      { siblings: [], leaf: null },
      { siblings: [null, sha('s')], leaf: null },
    ];
    assert.deepEqual(unpackProofs(packProofs(empty)), empty);
    assert.deepEqual(unpackProofs(packProofs([])), []);
  });
});
