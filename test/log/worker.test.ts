// The worker pool: calls and answers, buffers that move, and what a thread that ends does to its calls.

import assert from 'node:assert/strict';
import type { Worker } from 'node:worker_threads';
import { WorkerPool } from '../../log/worker.ts';
import { threadJobs } from './tried-jobs.ts';

type TriedPool = WorkerPool<ReturnType<typeof threadJobs.make>>;
const unavailable = (message: RegExp) => ({ name: 'LogError', code: 'log_unavailable', message });

for (const threads of [0, 1, 3]) {
  describe(`worker pool with ${String(threads)} threads`, () => {
    let pool: TriedPool;
    beforeEach(() => {
      pool = new WorkerPool(threadJobs, { name: 'tried', threads });
    });
    afterEach(() => pool.close());

    it('answers each call with its own result, whichever is ready first', async () => {
      const calls = [pool.run('later', 'slow'), pool.run('told', null), pool.run('later', 'too')];
      assert.deepEqual(await Promise.all(calls), ['slow', 0, 'too']);
    });

    it('rejects with the code of a LogError, and with an Error that has none', async () => {
      const refused = { name: 'LogError', code: 'out_of_range', message: 'no such page' };
      await assert.rejects(pool.run('refuse', 'no such page'), refused);
      await assert.rejects(pool.run('fail', 'a defect'), { name: 'Error', message: 'a defect' });
      assert.equal(await pool.run('told', null), 0);
    });

    it('rejects calls after it was closed', async () => {
      await pool.close();
      await assert.rejects(pool.run('told', null), unavailable(/tried pool is closed/));
    });
  });
}

describe('worker pool', () => {
  let pools: TriedPool[] = [];
  const poolOf = (options: {
    threads?: number;
    replace?: boolean;
    prepared?: number;
  }): TriedPool => {
    const { threads = 1, prepared = 0, replace = true } = options;
    const pool: TriedPool = new WorkerPool(threadJobs, {
      ...{ name: 'tried', threads, replace },
      prepare: (tell) => {
        tell('tell', prepared);
      },
    });
    pools.push(pool);
    return pool;
  };
  afterEach(async () => {
    await Promise.all(pools.map((pool) => pool.close()));
    pools = [];
  });

  it('moves the buffers that a job names in both directions', async () => {
    const bytes = Uint8Array.of(1, 2, 3);
    const reversed = poolOf({}).run('reverse', bytes);
    assert.equal(bytes.length, 0, 'the caller still has the buffer');
    assert.deepEqual(await reversed, Uint8Array.of(3, 2, 1));
  });

  it('runs a message to a thread before later calls', async () => {
    const pool = poolOf({ prepared: 100 });
    pool.tell('tell', 1);
    pool.tell('tell', 2);
    assert.equal(await pool.run('told', null), 103);
  });

  it('starts no more threads than it may have', async () => {
    const started: Worker[] = [];
    const onWorker = (worker: Worker): void => void started.push(worker);
    process.on('worker', onWorker);
    const pool = poolOf({ threads: 2 });
    await pool.run('told', null);
    await pool.run('told', null);
    assert.equal(started.length, 1, 'an idle thread was not used again');
    await Promise.all([1, 2, 3, 4].map((value) => pool.run('later', String(value))));
    process.off('worker', onWorker);
    assert.equal(started.length, 2);
    assert.equal(pool.waiting, 0);
  });

  for (const end of ['exit', 'throwLater'] as const) {
    it(`rejects the calls of a thread that ends by ${end}, and replaces and prepares it`, async () => {
      const pool = poolOf({ prepared: 7 });
      pool.tell('tell', 1);
      const lost = [pool.run('never', null), pool.run(end, 'out of memory')];
      const reason = end === 'exit' ? /tried thread ended/ : /tried thread failed: out of memory/;
      for (const one of lost) await assert.rejects(one, unavailable(reason));
      assert.equal(await pool.run('told', null), 7);
    });
  }

  it('does not replace a thread that took state with it', async () => {
    const pool = poolOf({ replace: false });
    await assert.rejects(pool.run('exit', null), unavailable(/tried thread ended/));
    pool.tell('tell', 1);
    await assert.rejects(pool.run('told', null), unavailable(/tried thread ended/));
  });

  it('rejects the call when the module of the jobs cannot be loaded', async () => {
    const url = new URL('./no-such-jobs.ts', import.meta.url).href;
    const pool = new WorkerPool({ ...threadJobs, url }, { name: 'tried', threads: 1 });
    await assert.rejects(
      pool.run('told', null),
      unavailable(/tried thread failed: .*no-such-jobs/),
    );
    await pool.close();
  });

  it('rejects calls without an answer when it is closed', async () => {
    const pool = poolOf({});
    const lost = assert.rejects(pool.run('never', null), unavailable(/is closed/));
    await pool.close();
    await lost;
  });
});
