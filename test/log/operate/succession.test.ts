// A successor log: after an orderly end, after a loss, and when the command runs twice.

import assert from 'node:assert/strict';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Witnesses } from '../../../gateway/witnesses/witnesses.ts';
import { witnessPolicyOf } from '../../../gateway/witnesses/witness-policy.ts';
import { native, openCheckpoint, openThreads } from '../../../log/index.ts';
import type { Cosign } from '../../../log/index.ts';
import { openSuccessor } from '../../../log/operate/succession.ts';
import type { Succession, SuccessionOptions } from '../../../log/operate/succession.ts';
import { ENTRY, NOTE } from '../../../log/store/layout.ts';
import { FileRegister } from '../../../log/store/register.ts';
import type { Store } from '../../../log/store/store.ts';
import { cosignerKey, realWitness } from '../../gateway/witnesses/answering.ts';
import { act, DEMO_TYPES } from '../../support/demo-types.ts';
import { openTestLog } from '../../support/open-test-log.ts';
import type { TestLog } from '../../support/open-test-log.ts';
import { openWithWrite } from '../store/with-write.ts';

describe('succession', () => {
  let first: TestLog;
  const threads = openThreads({ inline: true });

  beforeEach(async () => {
    first = await openTestLog({ types: DEMO_TYPES });
    await first.log.append([act(1, 'a')]);
    await first.publish();
  });

  afterEach(() => first.close());
  after(() => threads.close());

  const succeed = (more: Partial<SuccessionOptions> = {}): Promise<Succession> => {
    first.time.advance(1000);
    return openSuccessor({
      ...more,
      data: first.data,
      kind: 'live',
      number: 1,
      register: new FileRegister(join(first.data, 'checkpoints')),
      types: DEMO_TYPES,
      threads,
      time: first.time,
    });
  };

  const second = (): Promise<TestLog> =>
    openTestLog({
      data: first.data,
      number: 2,
      types: DEMO_TYPES,
      start_ms: first.time.wall() + 1000,
    });

  it('closes a log permanently and opens the next one after its last checkpoint', async () => {
    await first.stop();
    const { origin, predecessor, orderly } = await succeed();
    assert.equal(origin, 'log.example/log/live/2');
    assert.equal(orderly, true);
    const next = await second();
    const opened = JSON.parse(next.log.entry(0) ?? '') as { predecessor: object };
    const closed = await openTestLog({ data: first.data, types: DEMO_TYPES, declare: false });
    const { size, root } = closed.log.published();
    assert.equal(predecessor.size, size);
    assert.deepEqual(opened.predecessor, {
      origin: 'log.example/log/live/1',
      size,
      root: Buffer.from(root).toString('hex'),
    });
    await assert.rejects(closed.log.append([act(2)]), { code: 'log_closed' });
    await closed.check();
    await next.log.append([act(3, 'a')]);
    await next.check();
    await closed.stop();
    await next.stop();
  });

  it('begins the next log after the time of the last entry, even if the clock was set back', async () => {
    const last_ms = first.time.wall() + 20_000;
    first.time.advance(20_000);
    await first.log.append([act(2, 'a')]);
    await first.stop();
    first.time.jump(last_ms - 30_000);
    await succeed();
    const closed = await openTestLog({ data: first.data, types: DEMO_TYPES, declare: false });
    const next = await second();
    const time = ({ log }: TestLog, index: number): number =>
      (JSON.parse(log.entry(index) ?? '') as { issued_at_ms: number }).issued_at_ms;
    assert.ok(time(next, 0) > time(closed, closed.log.size() - 1));
    await closed.stop();
    await next.stop();
  });

  it('opens the same successor when it runs again', async () => {
    await first.stop();
    const once = await succeed();
    const twice = await succeed();
    assert.deepEqual(twice, once);
  });

  it('opens no successor while the disk is full, and continues when it runs again', async () => {
    const before = first.log.published().size;
    await first.stop();
    const disk = { full: true };
    const store = (folder: string): Promise<Store> =>
      openWithWrite(folder, (writes, write) => {
        const full = disk.full && writes.some(({ key }) => key[0] === NOTE);
        return full ? Promise.reject(new Error('ENOSPC: no space left')) : write(writes);
      });
    await assert.rejects(succeed({ store }), {
      code: 'log_unavailable',
      message: /last checkpoint of log\.example\/log\/live\/1 .* no successor .*ENOSPC.* again/,
    });
    const register = new FileRegister(join(first.data, 'checkpoints'));
    assert.equal(await register.read('live-2'), null, 'there is no successor');
    disk.full = false;
    const { predecessor, orderly } = await succeed({ store });
    assert.equal(orderly, true);
    assert.equal(predecessor.size, before + 2, 'log.closed.v1 and its map head were appended once');
  });

  it('opens no successor while the clock is not trusted', async () => {
    await first.stop();
    let batches = 0;
    const store = (folder: string): Promise<Store> =>
      openWithWrite(folder, (writes, write) => {
        // Batch 1 has log.closed.v1, batch 2 its map head.
        if (writes.some(({ key }) => key[0] === ENTRY)) batches += 1;
        return batches === 2 ? Promise.reject(new Error('ENOSPC')) : write(writes);
      });
    await assert.rejects(succeed({ store }), { code: 'log_unavailable' });
    first.time.jump(first.time.wall() - 120_000);
    await assert.rejects(succeed(), {
      code: 'clock_untrusted',
      message: /no successor was opened: the clock is \d+ ms behind/,
    });
    first.time.jump(first.time.wall() + 120_000);
    assert.equal((await succeed()).orderly, true);
  });

  it('writes nothing to a lost log, and names its last published note as predecessor', async () => {
    const backup = join(first.data, 'backup');
    await first.log.operator.backup(backup);
    await first.log.append([act(2, 'b')]);
    await first.publish();
    const { size } = first.log.published();
    await first.stop();
    await rm(first.folder, { recursive: true });
    await cp(backup, first.folder, { recursive: true });
    const { predecessor, orderly } = await succeed();
    assert.equal(orderly, false);
    assert.equal(predecessor.size, size);
    const next = await second();
    await next.log.append([act(3)]);
    await next.check();
    await next.stop();
    await assert.rejects(openTestLog({ data: first.data, types: DEMO_TYPES }), {
      code: 'log_rolled_back',
    });
  });

  describe('with a witness', () => {
    const KEY = cosignerKey('witness.example/one', 90);

    /** Requests cosignatures from a witness at a URL, with the clock of the log. */
    const asking = (url: string): ((number: number) => Cosign) => {
      const policy = witnessPolicyOf(`witness one ${KEY} ${url}\nquorum one\n`);
      const now = (): number => first.time.wall();
      return () => new Witnesses(policy, { timeout_ms: 10_000, fail_open: false, now }).cosign;
    };
    /** No server listens on port 9. */
    const NOBODY = 'http://127.0.0.1:9';

    it('opens no successor before the end is cosigned, and continues when it runs again', async () => {
      const { vkey } = first.log;
      const before = first.log.published().size;
      await first.stop();
      for (let asked = 0; asked < 2; asked += 1) {
        await assert.rejects(succeed({ cosign: asking(NOBODY) }), {
          code: 'log_unavailable',
          message: /is closed at \d+ entries, but its witnesses did not cosign/,
        });
      }
      const register = new FileRegister(join(first.data, 'checkpoints'));
      assert.equal(await register.read('live-2'), null, 'there is no successor');
      const now_s = (): number => Math.floor(first.time.wall() / 1000);
      const witness = await realWitness('witness.example/one', 90, [vkey], now_s);
      try {
        const { published, predecessor } = await succeed({ cosign: asking(witness.url) });
        assert.equal(published, false, 'the witness does not know the successor');
        const closed = await openTestLog({ data: first.data, types: DEMO_TYPES, declare: false });
        const { size, note, cosignatures } = closed.log.published();
        await closed.stop();
        assert.equal(size, predecessor.size);
        assert.equal(size, before + 2, 'log.closed.v1 and its map head were appended once');
        assert.equal(cosignatures, 1);
        const keys = { origin: 'log.example/log/live/1', vkey, cosigners: [KEY] };
        assert.equal(openCheckpoint(native, note, keys).cosignatures.length, 1);
      } finally {
        await witness.close();
      }
    });

    it('publishes the first checkpoint of a successor once its witness knows the log', async () => {
      const now_s = (): number => Math.floor(first.time.wall() / 1000);
      const old = await realWitness('witness.example/one', 90, [first.log.vkey], now_s);
      await first.stop();
      const { published, vkey } = await succeed({ cosign: asking(old.url) }).finally(old.close);
      assert.equal(published, false);
      const knows = await realWitness('witness.example/one', 90, [vkey], now_s);
      try {
        const again = await succeed({
          cosign: (number) => asking(number === 1 ? NOBODY : knows.url)(number),
        });
        assert.equal(again.vkey, vkey);
        assert.equal(again.published, true);
      } finally {
        await knows.close();
      }
    });
  });
});
