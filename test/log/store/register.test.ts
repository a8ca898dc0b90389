// The checkpoint register as files: replaced as a whole by compare-and-swap, and parsed strictly.

import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileRegister, readRemembered } from '../../../log/store/register.ts';
import { code } from '../write/kept-log.ts';

const remembered = (size: number) => ({
  origin: 'log.example/log/live/1',
  note: size === 0 ? null : `note of ${String(size)}`,
  acknowledged: { size, root: '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' },
});

describe('checkpoint register', () => {
  let folder: string;
  let register: FileRegister;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-register-'));
    register = new FileRegister(join(folder, 'deeper'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('reads null under a name without a value, and the last value afterwards', async () => {
    assert.equal(await register.read('live-1'), null);
    let before = null;
    for (const size of [0, 7, 8]) {
      await register.advance('live-1', before, remembered(size));
      before = remembered(size);
      assert.deepEqual(await register.read('live-1'), before);
    }
    assert.deepEqual(await readdir(register.folder), ['live-1.checkpoint']);
  });

  it('keeps the values of different names separate', async () => {
    await register.advance('gateway', null, { digest: 'ab' });
    await register.advance('live-1', null, { digest: 'cd' });
    assert.deepEqual(await register.read('gateway'), { digest: 'ab' });
    assert.equal(register.where('gateway'), join(folder, 'deeper', 'gateway.checkpoint'));
  });

  it('refuses to advance from another value, and keeps its value', async () => {
    const refused = (from: { n: number } | null): Promise<void> =>
      assert.rejects(register.advance('gateway', from, { n: 9 }), code('log_locked'));
    await refused({ n: 1 });
    await register.advance('gateway', null, { n: 1 });
    await refused(null);
    await refused({ n: 2 });
    // Another process with the same folder.
    await new FileRegister(register.folder).advance('gateway', { n: 1 }, { n: 2 });
    await refused({ n: 1 });
    assert.deepEqual(await register.read('gateway'), { n: 2 });
  });

  it('lets one of two concurrent calls succeed, and ignores the order of members', async () => {
    await register.advance('gateway', null, { a: 1, b: 2 });
    const ends = await Promise.allSettled(
      [3, 4].map((n) => register.advance('gateway', { b: 2, a: 1 }, { n })),
    );
    assert.deepEqual(
      ends.map(({ status }) => status),
      ['fulfilled', 'rejected'],
    );
    assert.deepEqual(await register.read('gateway'), { n: 3 });
  });

  it('is unchanged by the leftover of an interrupted write', async () => {
    await register.advance('live-1', null, remembered(7));
    await writeFile(`${register.where('live-1')}.new`, '{"origin":"log.exa');
    assert.deepEqual(await register.read('live-1'), remembered(7));
    await register.advance('live-1', remembered(7), remembered(8));
    assert.deepEqual(await register.read('live-1'), remembered(8));
  });

  it('refuses a name that leads to another folder', async () => {
    for (const name of ['', '../x', 'a/b', 'A', 'x'.repeat(65), 'a.b']) {
      assert.throws(() => register.where(name));
      await assert.rejects(register.read(name));
    }
  });

  it('throws store_corrupt if the file is not a register', async () => {
    const good = remembered(7);
    await register.advance('live-1', null, good);
    for (const bad of ['', 'x', '[]', 'null', JSON.stringify(good).slice(0, -1)]) {
      await writeFile(register.where('live-1'), bad);
      await assert.rejects(register.read('live-1'), code('store_corrupt'), bad);
      await assert.rejects(register.advance('live-1', good, good), code('store_corrupt'), bad);
    }
    for (const bad of [
      {},
      { ...good, acknowledged: null },
      { ...good, acknowledged: { size: -1, root: good.acknowledged.root } },
      { ...good, acknowledged: { size: '7', root: good.acknowledged.root } },
      { ...good, acknowledged: { size: 7, root: 'x' } },
      { ...good, note: 7 },
      { ...good, origin: 7 },
    ]) {
      await writeFile(register.where('live-1'), JSON.stringify(bad));
      await assert.rejects(readRemembered(register, 'live-1'), code('store_corrupt'));
    }
  });
});
