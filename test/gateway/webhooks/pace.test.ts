// Requests come before messages: how many attempts a queue starts while the event loop is busy, and while it is not.
// gateway/API.md §11.

import assert from 'node:assert/strict';
import { newRows } from '../../../gateway/webhooks/job.ts';
import type { Job } from '../../../gateway/webhooks/job.ts';
import { Pace } from '../../../gateway/webhooks/pace.ts';
import { Queue } from '../../../gateway/webhooks/queue.ts';
import { openTestLog } from '../../support/open-test-log.ts';
import { until } from './receiving.ts';

const WINDOW_MS = 20;
/** Attempts of a window at the guaranteed rate of 50 a second. */
const LEAST = 1;
/** Windows over which the loop is judged, and for which a queue may catch up. */
const WINDOWS = 5;

/** An event loop whose clock and utilization the test sets. */
class TestLoop {
  ms = 0;
  used = 0;
  readonly pace = new Pace({ now: () => this.ms, utilization: () => this.used });

  /** Starts what may start, of so many jobs. */
  start(jobs: number): number {
    let started = 0;
    while (started < jobs && this.pace.wait() === 0) {
      this.pace.started();
      started += 1;
    }
    return started;
  }

  /** Starts what may start of any number of jobs, in each of so many windows. */
  startAll(windows: number, most = Infinity): number[] {
    return Array.from({ length: windows }, () => {
      this.ms += WINDOW_MS;
      return this.start(most);
    });
  }
}

describe('the pace of webhooks', () => {
  it('allows 50 attempts a second to a loop that is always busy', () => {
    const loop = new TestLoop();
    loop.used = 1;
    assert.equal(loop.start(Infinity), WINDOWS * LEAST);
    assert.deepEqual(new Set(loop.startAll(50)), new Set([LEAST]));
    assert.ok(loop.pace.wait() > 0 && loop.pace.wait() <= WINDOW_MS);
    // One turn of the loop took three windows.
    loop.ms += 2 * WINDOW_MS;
    assert.deepEqual(loop.startAll(2), [3 * LEAST, LEAST]);
    // Time without messages is not saved up.
    loop.ms += 3_600_000;
    assert.deepEqual(loop.startAll(2), [WINDOWS * LEAST, LEAST]);
  });

  it('lets a burst start at once after a pause, if the loop has time', () => {
    const loop = new TestLoop();
    loop.used = 1;
    loop.startAll(20);
    loop.used = 0.5;
    loop.ms += 10 * WINDOW_MS;
    assert.equal(loop.start(200), 200);
  });

  it('keeps to this rate if every turn of the loop comes a little late', () => {
    const loop = new TestLoop();
    loop.used = 1;
    loop.start(Infinity);
    let started = 0;
    for (let turn = 0; turn < 100; turn += 1) {
      loop.ms += WINDOW_MS + 2;
      started += loop.start(Infinity);
    }
    assert.equal(started, (100 * (WINDOW_MS + 2) * LEAST) / WINDOW_MS);
  });

  it('allows more while the loop has time, and less when it has none', () => {
    const loop = new TestLoop();
    loop.used = 1;
    loop.startAll(20);
    loop.used = 0.5;
    assert.deepEqual(loop.startAll(6), [2, 4, 8, 16, 32, 64]);
    loop.used = 0.95;
    assert.deepEqual(loop.startAll(7), [32, 16, 8, 4, 2, LEAST, LEAST]);
  });

  it('does not allow more because of one window with time on a busy loop', () => {
    const loop = new TestLoop();
    loop.used = 1;
    loop.startAll(20);
    loop.used = 0.7;
    assert.deepEqual(loop.startAll(1), [LEAST]);
    loop.used = 1;
    assert.deepEqual(loop.startAll(1), [LEAST]);
  });

  it('allows no more than before if the messages do not need it', () => {
    const loop = new TestLoop();
    loop.used = 1;
    loop.startAll(20);
    loop.used = 0.5;
    loop.startAll(4);
    loop.startAll(100, 12);
    assert.deepEqual(loop.startAll(2), [32, 64]);
  });

  it('keeps the messages on disk that a queue does not start', async () => {
    const loop = new TestLoop();
    loop.used = 1;
    const { log, close } = await openTestLog();
    const messages = 60;
    const jobs = Array.from({ length: messages }, (_, index): Job => {
      return { host: '0123456789abcdef', index, target: 'url', type: 'trigger.armed', attempts: 0 };
    });
    await log.putAttached(jobs.flatMap(newRows));
    const started: number[] = [];
    const queue = new Queue(log, {
      for_each_host: 8,
      for_all: 256,
      pace: loop.pace,
      now: () => 0,
      chance: () => 0,
      attempt: (_, { index }) => {
        started.push(index);
        return Promise.resolve({ end: 'delivered' });
      },
      onEnd: () => undefined,
      onTrouble: (error) => assert.fail(error as Error),
    });
    const left = async (): Promise<number> => (await log.attachedRows('webhook/')).length;
    queue.start();
    // The first window, then one more, then all that is left.
    for (const expected of [WINDOWS * LEAST, (WINDOWS + 1) * LEAST]) {
      await until(async () => (await left()) === messages - expected);
      queue.wake();
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal(started.length, expected);
      loop.ms += WINDOW_MS;
    }
    const passing = setInterval(() => (loop.ms += WINDOW_MS), 1);
    loop.used = 0;
    await until(async () => (await left()) === 0);
    clearInterval(passing);
    assert.deepEqual(
      started,
      jobs.map(({ index }) => index),
    );
    await queue.stop();
    await close();
  });
});
