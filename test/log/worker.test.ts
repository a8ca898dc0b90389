// The worker pool: calls and results, transferred buffers, and the end of a thread during calls.

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

    it('returns to each call its own result, in any order', async () => {
      const calls = [pool.run('later', 'slow'), pool.run('told', null), pool.run('later', 'too')];
      assert.deepEqual(await Promise.all(calls), ['slow', 0, 'too']);
    });

    it('rejects with the code of a LogError, and with another Error without one', async () => {
      const refused = { name: 'LogError', code: 'out_of_range', message: 'no such page' };
      await assert.rejects(pool.run('refuse', 'no such page'), refused);
      await assert.rejects(pool.run('fail', 'a defect'), { name: 'Error', message: 'a defect' });
      assert.equal(await pool.run('told', null), 0);
    });

    it('rejects calls after close', async () => {
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

  it('transfers the buffers that a job names in both directions', async () => {
    const bytes = Uint8Array.of(1, 2, 3);
    const reversed = poolOf({}).run('reverse', bytes);
    assert.equal(bytes.length, 0, 'the caller still has the buffer');
    assert.deepEqual(await reversed, Uint8Array.of(3, 2, 1));
  });

  it('delivers a message to a thread before later calls', async () => {
    const pool = poolOf({ prepared: 100 });
    pool.tell('tell', 1);
    pool.tell('tell', 2);
    assert.equal(await pool.run('told', null), 103);
  });

  it('starts no more threads than its limit', async () => {
    const started: Worker[] = [];
    const onWorker = (worker: Worker): void => void started.push(worker);
    process.on('worker', onWorker);
    const pool = poolOf({ threads: 2 });
    await pool.run('told', null);
    await pool.run('told', null);
    assert.equal(started.length, 1, 'no idle thread was reused');
    await Promise.all([1, 2, 3, 4].map((value) => pool.run('later', String(value))));
    assert.equal(started.length, 2);
    assert.equal(pool.waiting, 0);
    const early = poolOf({ threads: 2 });
    early.start();
    await early.run('told', null);
    process.off('worker', onWorker);
    assert.equal(started.length, 4, 'a thread waits for a call');
  });

  for (const end of ['exit', 'throwLater'] as const) {
    it(`rejects the calls of a thread that ends by ${end}, and starts a prepared replacement`, async () => {
      const pool = poolOf({ prepared: 7 });
      pool.tell('tell', 1);
      const lost = [pool.run('never', null), pool.run(end, 'out of memory')];
      const reason = end === 'exit' ? /tried thread ended/ : /tried thread failed: out of memory/;
      for (const one of lost) await assert.rejects(one, unavailable(reason));
      assert.equal(await pool.run('told', null), 7);
    });
  }

  it('does not replace a thread that had state', async () => {
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

  it('rejects pending calls when it is closed', async () => {
    const pool = poolOf({});
    const lost = assert.rejects(pool.run('never', null), unavailable(/is closed/));
    await pool.close();
    await lost;
  });
});
