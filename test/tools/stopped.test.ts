// The commands that work on a stopped data folder: fsck, reindex, restore from a mirror, a successor log; and what the
// commands of a cluster answer there.

import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EntryType } from '../../log/index.ts';
import { PLUGIN_ROW, rowKey } from '../../log/store/layout.ts';
import { openStore, put } from '../../log/store/store.ts';
import { actlog, type Ran } from '../support/actlog.ts';
import { cosignerKey, realWitness } from '../gateway/witnesses/answering.ts';
import { act, DEMO_ACT } from '../support/demo-types.ts';
import { openTestLog } from '../support/open-test-log.ts';
import type { TestLog } from '../support/open-test-log.ts';
import { writeMirror } from '../support/write-mirror.ts';

/** The commands do not know the plugin `demo`, so no rows are projected. */
const TYPES: readonly EntryType[] = [
  { name: DEMO_ACT.name, schema: DEMO_ACT.schema, keys: DEMO_ACT.keys },
];

describe('actlog on a stopped data folder', function () {
  this.timeout(240_000);
  let data: string;
  let test: TestLog;

  beforeEach(async () => {
    data = await mkdtemp(join(tmpdir(), 'actlog-stopped-'));
    // The successor and the commands use the clock of the machine.
    test = await openTestLog({ data, types: TYPES, start_ms: Date.now() - 60_000 });
    await test.log.append([act(1, 'a'), act(2, 'b')]);
    await test.publish();
  });

  afterEach(async () => {
    await test.stop();
    await rm(data, { recursive: true, force: true });
  });

  const run = (...args: string[]): Promise<Ran> => actlog([...args, '--data', data]);

  const assertSaid = ({ code, stderr }: Ran, exit: number, said: RegExp): void => {
    assert.equal(code, exit, stderr);
    assert.match(stderr, said);
    assert.doesNotMatch(stderr, /\n {4}at /);
  };

  describe('fsck', () => {
    it('exits 0 if all is well, and prints what it could not check', async () => {
      await test.stop();
      const { code, stdout } = await run('fsck');
      assert.equal(code, 0, stdout);
      assert.match(stdout, /^live\/1 {2}log\.example\/log\/live\/1 {2}\d+ entries {2}clean$/m);
      assert.match(stdout, /not checked: rows of plugin demo: it is not loaded/);
    });

    it('exits 1 with differences, one in each line or as JSON', async () => {
      await test.stop();
      const store = await openStore(join(data, 'live', '1', 'db'));
      await store.write([put(rowKey(PLUGIN_ROW, 'classify/none'), Buffer.from('1'))]);
      await store.close();
      const text = await run('fsck');
      assert.equal(text.code, 1);
      assert.match(text.stdout, /plugin row: classify\/none: is derived from no entry/);
      const { code, json } = await run('fsck', '--json', '--log', 'live');
      assert.equal(code, 1);
      assert.equal(json[0].count, 1);
      assert.equal(json[0].differences[0].where, 'classify/none');
    });

    it('exits 2 if there is nothing to check', async () => {
      await test.stop();
      assertSaid(await run('fsck', '--log', 'sandbox'), 2, /has no log/);
      assertSaid(await run('fsck', '--log', 'neither'), 2, /Allowed choices/);
    });

    it('exits 2 if the folder of a log has no database, and creates none', async () => {
      await test.stop();
      const db = join(data, 'live', '1', 'db');
      await rm(db, { recursive: true });
      await mkdir(db);
      assertSaid(await run('fsck'), 2, /there is no database in .*\/live\/1\/db/);
      assert.deepEqual(await readdir(db), []);
      await rm(data, { recursive: true });
      assertSaid(await run('fsck'), 2, /has no log/);
      await assert.rejects(readdir(data), { code: 'ENOENT' });
    });
  });

  describe('reindex', () => {
    it('removes rows that no entry explains, and keeps those of plugins that are not loaded', async () => {
      await test.stop();
      const store = await openStore(join(data, 'live', '1', 'db'));
      await store.write([put(rowKey(PLUGIN_ROW, 'classify/none'), Buffer.from('1'))]);
      await store.close();
      const { code, stdout } = await run('reindex');
      assert.equal(code, 0);
      assert.match(
        stdout,
        /live\/1: rebuilt from \d+ entries\n {2}left as it is: demo, not loaded/,
      );
      assert.equal((await run('fsck')).code, 0);
    });

    it('refuses data that another process uses, and leaves its search index alone', async () => {
      const index = join(data, 'search');
      await mkdir(index);
      assertSaid(await run('reindex'), 1, /another process has the data/);
      assert.deepEqual(await readdir(index), []);
    });
  });

  describe('cluster', () => {
    it('says that a service of one process is no node', async () => {
      for (const verb of ['status', 'heal', 'step-down']) {
        assertSaid(await run('cluster', verb), 1, /runs as one process: .* has CLUSTER=on/);
      }
    });
  });

  describe('restore', () => {
    let size: number;

    /** Replaces the database by one from before the last acts. */
    beforeEach(async () => {
      const backup = join(data, 'backup');
      await test.log.operator.backup(backup);
      await test.log.append([act(3, 'a')]);
      await test.publish();
      size = await writeMirror(test.log, join(data, 'mirror', 'log', 'live', '1'));
      await test.stop();
      await rm(test.folder, { recursive: true });
      await cp(backup, test.folder, { recursive: true });
    });

    it('copies missing entries from a mirror, after which fsck is clean', async () => {
      const behind = await run('fsck');
      assert.equal(behind.code, 1);
      assert.match(behind.stdout, /the database is behind/);
      const from = ['--log', 'live', '--from', join(data, 'mirror')];
      const { code, stdout, stderr } = await run('restore', ...from);
      assert.equal(code, 0, stderr);
      assert.match(stdout, new RegExp(`has ${String(size)} entries again, 2 of them from`));
      assert.equal((await run('fsck')).code, 0);
      const again = await run('restore', ...from);
      assert.match(again.stdout, /there was nothing to restore/);
    });

    it('opens a successor if there is no mirror', async () => {
      const args = ['restore', '--log', 'live', '--successor', '--number', '1'];
      const { code, stdout, stderr } = await run(...args);
      assert.equal(code, 0, stderr);
      assert.match(stdout, new RegExp(`left .*/log/live/1 at ${String(size)} entries as lost`));
      assert.match(stdout, /opened log\.example\/log\/live\/2/);
      const { stdout: checked } = await run('fsck');
      assert.match(checked, /live\/2 {2}log\.example\/log\/live\/2 {2}\d+ entries {2}clean/);
    });

    it('asks the witnesses before it publishes the last checkpoint, and again when it is repeated', async () => {
      // The database is behind its file, and only an intact log can be closed.
      await rm(data, { recursive: true });
      const well = await openTestLog({ data, types: TYPES, start_ms: Date.now() - 60_000 });
      const { vkey } = well.log;
      await well.stop();
      const policy = join(data, 'policy');
      const settle = async (url: string): Promise<Ran> => {
        const key = cosignerKey('witness.example/one', 90);
        await writeFile(policy, `log ${vkey}\nwitness one ${key} ${url}\nquorum one\n`);
        const args = ['restore', '--log', 'live', '--successor', '--number', '1', '--data', data];
        return actlog(args, { env: { WITNESS_POLICY: policy } });
      };
      const said = /witnesses did not cosign its last checkpoint.*\n.*one: cannot be reached/;
      assertSaid(await settle('http://127.0.0.1:9'), 1, said);
      const witness = await realWitness('witness.example/one', 90, [vkey]);
      const { code, stdout, stderr } = await settle(witness.url).finally(witness.close);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^log log\.example\/log\/live\/2\+\S+$/m);
      const closed = await openTestLog({ data, types: TYPES, declare: false });
      const { cosignatures, size } = closed.log.published();
      await closed.stop();
      assert.equal(cosignatures, 1);
      assert.match(stdout, new RegExp(`closed .*/live/1 at ${String(size)} entries`));
    });

    it('prints what is missing', async () => {
      assertSaid(await run('restore'), 2, /--log/);
      assertSaid(await run('restore', '--log', 'live'), 2, /either --from MIRROR or --successor/);
      assertSaid(await run('restore', '--log', 'live', '--successor'), 2, /needs --number/);
      assertSaid(await run('restore', '--log', 'live', '--from', data), 2, /has no log .*no file/s);
      const unreachable = 'http://127.0.0.1:9/log/live/1';
      assertSaid(
        await run('restore', '--log', 'sandbox', '--from', unreachable),
        1,
        /file is missing/,
      );
    });
  });
});
