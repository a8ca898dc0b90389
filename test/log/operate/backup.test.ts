// A copy of a database, row by row, into a folder without one.

import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { backupStore } from '../../../log/operate/operator.ts';
import { metaKey } from '../../../log/store/layout.ts';
import { openStore, put, type Store } from '../../../log/store/store.ts';
import { writable } from '../../../log/store/durable-file.ts';
import { code } from '../write/kept-log.ts';

const rowsOf = async (store: Store): Promise<string[]> => {
  const rows: string[] = [];
  for await (const [key, value] of store.copy()) {
    rows.push(`${Buffer.from(key).toString('hex')}=${Buffer.from(value).toString('hex')}`);
  }
  return rows;
};

describe('backup', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-copy-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  for (const count of [0, 1, 1023, 1024, 5000]) {
    it(`copies all of ${String(count)} rows, and returns the size`, async () => {
      const store = await openStore(join(folder, 'db'));
      try {
        const rows = Array.from({ length: count }, (_, i) =>
          put(Buffer.from(`x${String(i)}`), Buffer.from(String(i))),
        );
        const state = put(metaKey('state'), Buffer.from(JSON.stringify({ size: count })));
        await store.write([...rows, ...(count === 0 ? [] : [state])]);
        assert.deepEqual(await backupStore(store, join(folder, 'copy')), { size: count });
        const copy = await openStore(join(folder, 'copy', 'db'));
        assert.deepEqual(await rowsOf(copy), await rowsOf(store));
        await copy.close();
        await assert.rejects(backupStore(store, join(folder, 'copy')), code('out_of_range'));
      } finally {
        await store.close();
      }
    });
  }
});

describe('writable', () => {
  it('accepts a writable folder, leaves nothing in it, and rejects a missing one', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'actlog-probe-'));
    await writable(folder);
    assert.deepEqual(await readdir(folder), []);
    await rm(folder, { recursive: true });
    await assert.rejects(writable(folder));
  });
});
