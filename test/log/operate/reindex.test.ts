// A reindex rebuilds the rows of plugins as the log wrote them; an interrupted one must be repeated.

import assert from 'node:assert/strict';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fsck } from '../../../log/operate/fsck/fsck.ts';
import { reindex } from '../../../log/operate/reindex.ts';
import { metaKey, PLUGIN_ROW, rowKey } from '../../../log/store/layout.ts';
import { openStore, put, write } from '../../../log/store/store.ts';
import type { Write } from '../../../log/store/store.ts';
import type { EntryType } from '../../../log/index.ts';
import { act, DEMO_ACT, DEMO_TYPES } from '../../support/demo-types.ts';
import { openTestLog } from '../../support/open-test-log.ts';
import type { TestLog } from '../../support/open-test-log.ts';

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

  it('repairs wrong, missing and superfluous rows', async () => {
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

  it('creates no database in an empty folder', async () => {
    const folder = join(test.data, 'none');
    await mkdir(join(folder, 'db'), { recursive: true });
    await assert.rejects(reindex({ folder, types: [] }), { code: 'not_found' });
    assert.deepEqual(await readdir(join(folder, 'db')), []);
  });

  it('leaves the rows of a plugin that is not loaded', async () => {
    const { untouched } = await reindex({ folder: test.folder, types: [] });
    assert.deepEqual(untouched, ['demo']);
    assert.deepEqual(await found(), []);
  });

  it('must be repeated after an interruption before the log opens', async () => {
    await change(put(metaKey('reindex'), Buffer.from('1')), write(row('demo/last'), null));
    const open = (): Promise<TestLog> => openTestLog({ data: test.data, types: DEMO_TYPES });
    await assert.rejects(open(), { code: 'store_corrupt', message: /actlog reindex/ });
    await reindex({ folder: test.folder, types: DEMO_TYPES });
    const again = await open();
    assert.deepEqual(again.log.row('demo/last'), { index: 1502 });
    await again.check();
    await again.stop();
  });

  describe('of rows in the form of another release', () => {
    const FORMED = [{ ...DEMO_ACT, row_form: 2 }];
    const open = (types: readonly EntryType[]): Promise<TestLog> =>
      openTestLog({ data: test.data, types });
    const outdated = { code: 'store_corrupt', message: /rows of demo .*actlog reindex/ };

    it('is required once by a log that is opened with new row forms', async () => {
      await assert.rejects(open(FORMED), outdated);
      await reindex({ folder: test.folder, types: FORMED });
      const again = await open(FORMED);
      await again.log.append([act(1, 'case-1')]);
      await again.stop();
      assert.deepEqual(await found(), []);
    });

    it('is also required by the earlier release, which does not know the new form', async () => {
      await reindex({ folder: test.folder, types: FORMED });
      await assert.rejects(open(DEMO_TYPES), outdated);
      await reindex({ folder: test.folder, types: DEMO_TYPES });
      await (await open(DEMO_TYPES)).stop();
    });

    it('keeps the recorded form of a plugin that is not loaded', async () => {
      await reindex({ folder: test.folder, types: FORMED });
      await reindex({ folder: test.folder, types: [] });
      await (await open([])).stop();
      await assert.rejects(open(DEMO_TYPES), outdated);
    });

    it('is not required if there are no rows to rebuild', async () => {
      const fresh = await openTestLog({ types: DEMO_TYPES });
      await fresh.stop();
      const formed = await openTestLog({ data: fresh.data, types: FORMED });
      await formed.log.append([act(1, 'case-1')]);
      await formed.stop();
      await assert.rejects(openTestLog({ data: fresh.data, types: DEMO_TYPES }), outdated);
      await fresh.close();
    });

    it('is reported by fsck if the record of row forms is damaged', async () => {
      await change(put(metaKey('rows'), Buffer.from('{"demo.act.v1":"2"}')));
      const [difference, ...more] = await found();
      assert.deepEqual(difference, {
        ...{ part: 'state', where: 'rows' },
        detail: 'the record of the forms of plugin rows is damaged',
      });
      assert.deepEqual(more, []);
      await assert.rejects(open(FORMED), { code: 'store_corrupt' });
    });

    it('is not required if the type is new to the log', async () => {
      const fresh = await openTestLog({ types: FORMED });
      await fresh.log.append([act(1, 'case-1')]);
      await fresh.stop();
      await (await openTestLog({ data: fresh.data, types: FORMED })).stop();
      await assert.rejects(openTestLog({ data: fresh.data, types: DEMO_TYPES }), outdated);
      await fresh.close();
    });
  });

  it('refuses a folder without a log', async () => {
    await assert.rejects(reindex({ folder: test.data, types: [] }), { code: 'not_found' });
  });
});
