// A log whose checkpoint or receipt key is lost: it can be read, refuses appends, can have a successor, and is not
// changed once it has one. log/FORMAT.md §5.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { native, openThreads } from '../../../log/index.ts';
import type { Log } from '../../../log/index.ts';
import { checkConsistency, checkInclusion } from '../../../log/merkle/check.ts';
import { metaKey } from '../../../log/store/layout.ts';
import { FileRegister } from '../../../log/store/register.ts';
import { openStore, write } from '../../../log/store/store.ts';
import { openSuccessor } from '../../../log/operate/succession.ts';
import type { Succession } from '../../../log/operate/succession.ts';
import { act, DEMO_TYPES } from '../../support/demo-types.ts';
import { openTestLog } from '../../support/open-test-log.ts';
import type { TestLog } from '../../support/open-test-log.ts';

describe('a log without one of its keys', () => {
  const threads = openThreads({ inline: true });
  let first: TestLog;
  let published: ReturnType<Log['published']>;
  let texts: readonly (string | null)[];

  beforeEach(async () => {
    first = await openTestLog({ types: DEMO_TYPES });
    await first.log.append([act(1, 'a')]);
    await first.publish();
    await first.log.append([act(2, 'a')]);
    await first.stop();
    published = first.log.published();
    texts = Array.from({ length: first.log.size() }, (_, i) => first.log.entry(i));
  });
  afterEach(() => first.close());
  after(() => threads.close());

  const keys = (): string => join(first.data, 'keys');
  const nameOf = async (part: string): Promise<string> => {
    const name = (await readdir(keys())).find((file) => file.startsWith(`live-1-${part}`));
    assert.ok(name !== undefined);
    return join(keys(), name);
  };
  const reopened = (number = 1, more = {}): Promise<TestLog> =>
    openTestLog({
      ...{ data: first.data, number, types: DEMO_TYPES },
      start_ms: first.time.wall() + 10_000,
      ...more,
    });
  const succeed = (): Promise<Succession> => {
    first.time.advance(1000);
    const register = new FileRegister(join(first.data, 'checkpoints'));
    const options = { data: first.data, kind: 'live', number: 1, register } as const;
    return openSuccessor({ ...options, types: DEMO_TYPES, threads, time: first.time });
  };
  const isAsBefore = (log: Log): void => {
    const { size, root, note } = log.published();
    assert.deepEqual({ size, note }, { size: published.size, note: published.note });
    assert.deepEqual(Buffer.from(root), Buffer.from(published.root));
    assert.equal(log.size(), texts.length);
    for (const [index, text] of texts.entries()) {
      assert.equal(log.entry(index), text);
      const path = log.inclusion(index, size);
      checkInclusion(native, { index, size, leafHash: log.leafHash(index), path, root });
    }
    const from = 1;
    checkConsistency(native, {
      from,
      to: size,
      fromRoot: log.rootAt(from),
      toRoot: root,
      path: log.consistency(from, size),
    });
    assert.equal(log.vkey, first.log.vkey);
  };

  for (const [what, left] of [
    ['empty', ''],
    ['half', '-----BEGIN PRIVATE KEY-----\nMC4CAQ'],
  ] as const) {
    it(`starts with an unused key file that an earlier release left ${what}`, async () => {
      await writeFile(join(keys(), 'live-1-receipt-new.pem'), left, { mode: 0o600 });
      const again = await reopened();
      await again.log.append([act(3, 'a')]);
      await again.stop();
      const data = await mkdtemp(join(tmpdir(), 'actlog-unfinished-'));
      await mkdir(join(data, 'keys'), { mode: 0o700 });
      await writeFile(join(data, 'keys', 'live-1-checkpoint.pem'), left, { mode: 0o600 });
      const fresh = await openTestLog({ data, types: DEMO_TYPES });
      await fresh.log.append([act(1, 'a')]);
      await fresh.publish();
      await fresh.stop();
      const { log, stop } = await openTestLog({ data, start_ms: fresh.time.wall() + 10_000 });
      assert.equal(log.health().lost_key, null);
      await stop();
      await rm(data, { recursive: true });
    });

    it(`reports a key in use that is ${what}`, async () => {
      const path = await nameOf('checkpoint');
      await writeFile(path, left);
      const { log, stop } = await reopened();
      isAsBefore(log);
      const { reason = '', lost_key } = log.health();
      assert.equal(lost_key, 'checkpoint');
      assert.match(reason, /live-1-checkpoint\.pem is empty or cut off in /);
      await stop();
    });
  }

  for (const [part, lost_key] of [
    ['checkpoint', 'checkpoint'],
    ['receipt-', 'receipt'],
  ] as const) {
    it(`can be read but refuses appends (${lost_key} key)`, async () => {
      const path = await nameOf(part);
      await rename(path, `${path}.away`);
      const { log, stop, check } = await reopened();
      isAsBefore(log);
      const health = log.health();
      assert.deepEqual([health.lost_key, health.writable, health.closed], [lost_key, false, false]);
      assert.match(health.reason ?? '', /is missing in .*restore --successor/);
      const refused = {
        code: 'log_read_only',
        message: /for reading only, because the file of its \w+ key is lost/,
      };
      await assert.rejects(log.append([act(3)]), refused);
      await assert.rejects(log.registerTenant('C'.repeat(21) + 'A', '1'.repeat(64)), refused);
      const files = await readdir(keys());
      await assert.rejects(log.operator.rotateKey(), refused);
      assert.deepEqual(await readdir(keys()), files, 'no key file without a declaration');
      await assert.rejects(log.operator.closeForGood(null), refused);
      await assert.rejects(log.whenPublished(log.size() + 1), refused);
      await log.putAttached([{ key: 'kept', value: Buffer.of(1) }]);
      const { question } = await log.lookup({ key: ['demo.case', 'a'], from_ms: 0, to_ms: 0 });
      assert.ok(question !== undefined);
      await check();
      await stop();
      // The operator found the key.
      await rename(`${path}.away`, path);
      const again = await reopened();
      assert.equal(again.log.health().lost_key, null);
      await again.log.append([act(3)]);
      await again.check();
      await again.stop();
    });

    it(`can have a successor, and can still be read (${lost_key} key)`, async () => {
      const path = await nameOf(part);
      await rename(path, `${path}.away`);
      const succession = await succeed();
      assert.deepEqual(succession.predecessor, { origin: first.log.origin, size: published.size });
      assert.equal(succession.orderly, false);
      assert.deepEqual(await succeed(), succession, 'the same result when run again');
      const next = await reopened(2);
      await next.log.append([act(4)]);
      const opened = JSON.parse(next.log.entry(0) ?? '') as { predecessor: object };
      assert.deepEqual(opened.predecessor, {
        ...succession.predecessor,
        root: Buffer.from(published.root).toString('hex'),
      });
      await next.check();
      await next.stop();
      const old = await reopened(1, { more: { has_successor: true } });
      isAsBefore(old.log);
      await assert.rejects(old.log.append([act(5)]), { code: 'log_closed' });
      await old.stop();
    });

    it(`is not changed if its key is found after the succession (${lost_key} key)`, async () => {
      const path = await nameOf(part);
      await rename(path, `${path}.away`);
      const once = await succeed();
      await rename(`${path}.away`, path);
      assert.deepEqual(await succeed(), once);
      const old = await reopened(1, { more: { has_successor: true, checkpoint_interval_ms: 1 } });
      old.time.advance(3_600_000);
      await assert.rejects(old.log.append([act(5)]), { code: 'log_closed' });
      isAsBefore(old.log);
      await old.stop();
      const again = await reopened(1, { more: { has_successor: true } });
      isAsBefore(again.log);
      await again.stop();
    });
  }

  it('cannot be read if its verifier key is unknown too, but can have a successor', async () => {
    await rm(await nameOf('checkpoint'));
    const store = await openStore(join(first.folder, 'db'));
    await store.write([write(metaKey('vkey'), null)]);
    await store.close();
    await assert.rejects(reopened(), {
      code: 'key_lost',
      message: /live-1-checkpoint\.pem is missing/,
    });
    const { predecessor, orderly } = await succeed();
    assert.deepEqual([predecessor.size, orderly], [published.size, false]);
    assert.deepEqual((await succeed()).predecessor, predecessor);
  });

  it('is refused with the checkpoint key of another log', async () => {
    const other = await openTestLog({ data: first.data, kind: 'sandbox' });
    await other.stop();
    const foreign = (await readdir(keys())).find((file) => file.startsWith('sandbox-1-checkpoint'));
    await rename(join(keys(), foreign ?? ''), await nameOf('checkpoint'));
    await assert.rejects(reopened(), {
      code: 'key_invalid',
      message: /is not the one that the log/,
    });
  });
});
