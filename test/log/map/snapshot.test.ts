// Snapshots: loading restores the frozen version, and a damaged file is not accepted.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync, readdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { native } from '../../../log/crypto/native.ts';
import { utf8 } from '../../../log/encoding/bytes.ts';
import { loadSnapshot, saveSnapshot } from '../../../log/map/snapshot.ts';
import { HeadTrie } from '../../../log/map/trie.ts';

const sha = (text: string): Uint8Array => native.sha256(utf8(text));

function fill(trie: HeadTrie, from: number, to: number, value: string): void {
  for (let i = from; i < to; i++) trie.set(sha(`k${String(i)}`), sha(`${value}${String(i)}`));
}

describe('map/snapshot', () => {
  let folder: string;
  let path: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'actlog-snapshot-'));
    path = join(folder, 'map');
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  async function saved(keys: number): Promise<{ trie: HeadTrie; id: number; root: Uint8Array }> {
    const trie = new HeadTrie();
    fill(trie, 0, keys, 'v');
    const { id, root } = trie.freeze();
    await saveSnapshot(trie.records(id), 42, path);
    return { trie, id, root };
  }

  for (const keys of [0, 1, 2, 3, 100, 20_000]) {
    it(`restores a map of ${String(keys)} keys, which then changes as before`, async () => {
      const { trie, id, root } = await saved(keys);
      const loaded = loadSnapshot(path);
      assert.ok(loaded !== null);
      assert.equal(loaded.covered, 42);
      assert.equal(loaded.trie.size, keys);
      assert.deepEqual(loaded.trie.root(), root);
      const version = loaded.trie.freeze();
      for (const name of ['k0', 'k1', 'missing']) {
        assert.deepEqual(loaded.trie.prove(version.id, sha(name)), trie.prove(id, sha(name)));
      }
      for (const each of [trie, loaded.trie]) fill(each, keys >> 1, keys + 50, 'w');
      assert.deepEqual(loaded.trie.root(), trie.root());
    });
  }

  it('writes one file, which only its owner can read', async () => {
    await saved(10);
    assert.deepEqual(readdirSync(folder), ['map']);
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  it('contains the frozen version while the map changes', async () => {
    const trie = new HeadTrie();
    fill(trie, 0, 20_000, 'v');
    const { id, root } = trie.freeze();
    const saving = saveSnapshot(trie.records(id), 7, path).then(() => 'saved' as const);
    let moved = 0;
    for (;;) {
      const turn = new Promise<'turn'>((resolve) => setImmediate(resolve, 'turn'));
      if ((await Promise.race([saving, turn])) === 'saved') break;
      fill(trie, moved * 100, moved * 100 + 200, 'w');
      const next = trie.freeze();
      trie.release(next.id);
      moved++;
    }
    assert.ok(moved > 0);
    assert.notDeepEqual(trie.root(), root);
    assert.deepEqual(loadSnapshot(path)?.trie.root(), root);
  });

  it('replaces an older one', async () => {
    await saved(10);
    const { root } = await saved(20);
    assert.deepEqual(loadSnapshot(path)?.trie.root(), root);
  });

  it('is null if the file is missing', () => {
    assert.equal(loadSnapshot(path), null);
  });

  it('is null if any byte was changed', async () => {
    await saved(50);
    const bytes = readFileSync(path);
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const damaged = Uint8Array.from(bytes, (byte, i) => (i === at ? byte ^ change : byte));
        writeFileSync(path, damaged);
        assert.equal(loadSnapshot(path), null);
      }),
    );
  });

  it('is refused if it is truncated or too long', async () => {
    await saved(50);
    const bytes = readFileSync(path);
    for (const length of [0, 1, 127, 128, bytes.length - 1]) {
      writeFileSync(path, bytes.subarray(0, length));
      assert.equal(loadSnapshot(path), null, String(length));
    }
    writeFileSync(path, Buffer.concat([bytes, Buffer.alloc(1)]));
    assert.equal(loadSnapshot(path), null);
  });

  it('is rejected if it cannot be written, and the old file is kept', async () => {
    const trie = new HeadTrie();
    const { id } = trie.freeze();
    await assert.rejects(saveSnapshot(trie.records(id), 1, join(folder, 'none', 'map')), {
      code: 'ENOENT',
    });
  });
});
