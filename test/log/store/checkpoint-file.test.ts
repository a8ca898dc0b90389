// The file outside the database: replaced whole, read strictly.

import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCheckpointFile, writeCheckpointFile } from '../../../log/store/checkpoint-file.ts';
import { code } from '../kept-log.ts';

const remembered = (size: number) => ({
  origin: 'log.example/log/live/1',
  note: size === 0 ? null : `note of ${String(size)}`,
  acknowledged: { size, root: '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' },
});

describe('checkpoint file', () => {
  let folder: string;
  let path: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-file-'));
    path = join(folder, 'deeper', 'live-1.checkpoint');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('is null where there is none, and reads as it was written last', async () => {
    assert.equal(await readCheckpointFile(path), null);
    for (const size of [0, 7, 8]) {
      await writeCheckpointFile(path, remembered(size));
      assert.deepEqual(await readCheckpointFile(path), remembered(size));
    }
    assert.deepEqual(await readdir(join(folder, 'deeper')), ['live-1.checkpoint']);
  });

  it('stays as it was beside a write that a crash cut off', async () => {
    await writeCheckpointFile(path, remembered(7));
    await writeFile(`${path}.new`, '{"origin":"log.exa');
    assert.deepEqual(await readCheckpointFile(path), remembered(7));
    await writeCheckpointFile(path, remembered(8));
    assert.deepEqual(await readCheckpointFile(path), remembered(8));
  });

  it('is store_corrupt when it is not one of ours', async () => {
    await writeCheckpointFile(path, remembered(7));
    const good = remembered(7);
    for (const bad of [
      '',
      'x',
      '[]',
      'null',
      '{}',
      JSON.stringify(good).slice(0, -1),
      JSON.stringify({ ...good, acknowledged: null }),
      JSON.stringify({ ...good, acknowledged: { size: -1, root: good.acknowledged.root } }),
      JSON.stringify({ ...good, acknowledged: { size: '7', root: good.acknowledged.root } }),
      JSON.stringify({ ...good, acknowledged: { size: 7, root: 'x' } }),
      JSON.stringify({ ...good, note: 7 }),
      JSON.stringify({ ...good, origin: 7 }),
    ]) {
      await writeFile(path, bad);
      await assert.rejects(readCheckpointFile(path), code('store_corrupt'), bad);
    }
  });
});
