// Rows in memory are the same as on disk after each round.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Json } from '../../../log/index.ts';
import { Rows } from '../../../log/write/rows.ts';
import { PLUGIN_ROW } from '../../../log/store/layout.ts';
import { openStore, type Store } from '../../../log/store/store.ts';

const KEYS = ['a/1', 'a/2', 'b/1'];

describe('rows', () => {
  let folder: string;
  let store: Store;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-rows-'));
    store = await openStore(join(folder, 'db'));
  });
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** The row as a reader without a cache finds it. */
  const onDisk = (key: string): Json | undefined => new Rows(store, PLUGIN_ROW).durable(key);

  it('are those of the last durable round until the next round is durable', async () => {
    const rows = new Rows(store, PLUGIN_ROW);
    assert.equal(rows.get('a/1'), undefined);
    rows.set('a/1', { n: 1 }, 1);
    assert.deepEqual([rows.get('a/1'), rows.durable('a/1')], [{ n: 1 }, undefined]);
    await store.write([...rows.writes(1)]);
    rows.set('a/1', { n: 2 }, 2);
    rows.settle(1);
    assert.deepEqual([rows.get('a/1'), rows.durable('a/1')], [{ n: 2 }, { n: 1 }]);
    await store.write([...rows.writes(2)]);
    rows.settle(2);
    rows.set('a/1', null, 3);
    assert.deepEqual([rows.get('a/1'), rows.durable('a/1')], [undefined, { n: 2 }]);
    await store.write([...rows.writes(3)]);
    rows.settle(3);
    assert.deepEqual([rows.durable('a/1'), onDisk('a/1')], [undefined, undefined]);
  });

  it('are the same as on disk for any writes, deletions and reads', async () => {
    const change = fc.record({
      key: fc.constantFrom(...KEYS),
      // As in its JSON text: minus zero is written as 0.
      value: fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as Json),
      reads: fc.subarray(KEYS),
    });
    let round = 0;
    const rows = new Rows(store, PLUGIN_ROW);
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 8 }), async (changes) => {
        round += 1;
        for (const { key, value, reads } of changes) {
          rows.set(key, value, round);
          for (const read of reads) rows.get(read);
        }
        await store.write([...rows.writes(round)]);
        rows.settle(round);
        for (const key of KEYS) {
          const stored = onDisk(key);
          assert.deepEqual([rows.durable(key), rows.get(key)], [stored, stored]);
        }
      }),
      { numRuns: 60 },
    );
  });
});
