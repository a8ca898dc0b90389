// Plugin rows rebuilt from the entries are those that the log wrote; an interrupted rebuild starts over.

import assert from 'node:assert/strict';
import { fsck } from '../../log/fsck.ts';
import { reindex } from '../../log/reindex.ts';
import { metaKey, PLUGIN_ROW, rowKey } from '../../log/store/layout.ts';
import { openStore, put, write } from '../../log/store/store.ts';
import type { Write } from '../../log/store/store.ts';
import { act, DEMO_TYPES } from '../support/demo-types.ts';
import { openTestLog } from '../support/open-test-log.ts';
import type { TestLog } from '../support/open-test-log.ts';

describe('reindex', () => {
  let test: TestLog;

  beforeEach(async () => {
    test = await openTestLog({ types: DEMO_TYPES });
    const drafts = Array.from({ length: 1500 }, (_, n) => act(n, `case-${String(n % 13)}`));
    await test.log.append(drafts);
    await test.publish();
    await test.stop();
  });

  afterEach(() => test.close());

  const change = async (...writes: Write[]): Promise<void> => {
    const store = await openStore(`${test.folder}/db`);
    await store.write(writes);
    await store.close();
  };
  const row = (key: string): Buffer => rowKey(PLUGIN_ROW, key);
  const found = async (): Promise<readonly unknown[]> =>
    (await fsck({ folder: test.folder, types: DEMO_TYPES })).differences;

  it('mends wrong, missing and stray rows', async () => {
    await change(
      put(row('demo/case/case-1'), Buffer.from('7')),
      write(row('demo/case/case-2'), null),
      put(row('demo/case/none'), Buffer.from('1')),
      put(row('gone/row'), Buffer.from('1')),
    );
    assert.equal((await found()).length, 4);
    const { size, untouched } = await reindex({ folder: test.folder, types: DEMO_TYPES });
    assert.ok(size > 1500);
    assert.deepEqual(untouched, []);
    assert.deepEqual(await found(), []);
  });

  it('leaves the rows of a plugin that is not loaded', async () => {
    const { untouched } = await reindex({ folder: test.folder, types: [] });
    assert.deepEqual(untouched, ['demo']);
    assert.deepEqual(await found(), []);
  });

  it('stands in the way of the log until an interrupted one has been repeated', async () => {
    await change(put(metaKey('reindex'), Buffer.from('1')), write(row('demo/last'), null));
    const open = (): Promise<TestLog> => openTestLog({ data: test.data, types: DEMO_TYPES });
    await assert.rejects(open(), { code: 'store_corrupt', message: /actlog reindex/ });
    await reindex({ folder: test.folder, types: DEMO_TYPES });
    const again = await open();
    assert.deepEqual(again.log.row('demo/last'), { index: 1502 });
    await again.check();
    await again.stop();
  });

  it('refuses a folder without a log', async () => {
    await assert.rejects(reindex({ folder: test.data, types: [] }), { code: 'not_found' });
  });
});
