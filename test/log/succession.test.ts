// A successor log: after an orderly end, after a loss, and when the command is given twice.

import assert from 'node:assert/strict';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openThreads } from '../../log/index.ts';
import { openSuccessor } from '../../log/succession.ts';
import type { Succession } from '../../log/succession.ts';
import { act, DEMO_TYPES } from '../support/demo-types.ts';
import { openTestLog } from '../support/open-test-log.ts';
import type { TestLog } from '../support/open-test-log.ts';

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

  const succeed = (): Promise<Succession> => {
    first.time.advance(1000);
    return openSuccessor({
      data: first.data,
      kind: 'live',
      number: 1,
      checkpoints: join(first.data, 'checkpoints'),
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

  it('closes a log for good and opens the next one after its last checkpoint', async () => {
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

  it('opens the same successor when asked twice', async () => {
    await first.stop();
    const once = await succeed();
    const twice = await succeed();
    assert.deepEqual(twice, once);
  });

  it('leaves a lost log alone and names the last note that is out', async () => {
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
});
