// The pool computes long allocations off the event loop, with the same result as inline, and limits how many wait.

import assert from 'node:assert/strict';
import { SharpPool, stepsOf } from '../../../plugins/orn/sharp-pool.ts';
import { exactShapley } from '../../../plugins/orn/shapley.ts';
import type { ShapleyTask } from '../../../plugins/orn/shapley.ts';

const weights = Array.from({ length: 16 }, (_, at) => (at + 1) * 1_000_000);
const task = (agents: number): ShapleyTask => ({
  game: { type: 'max', agents, weights: weights.slice(0, agents) },
  sample: null,
});

describe('the pool of allocations', () => {
  const pool = new SharpPool();

  it('does not block the event loop while it computes 16 agents, and returns the exact values', async () => {
    let going = true;
    let turns = 0;
    const turned = (): void => {
      turns += 1;
      if (going) setImmediate(turned);
    };
    setImmediate(turned);
    const shapley = await pool.compute(task(16));
    going = false;
    assert.ok(turns > 0, 'the event loop was blocked');
    assert.deepEqual(shapley, exactShapley(task(16).game));
  });

  it('counts the edges of a game as steps of each agent', () => {
    const game = { type: 'edges', agents: 3, edges: [[0, 1, 1] as const] } as const;
    assert.equal(stepsOf({ game, sample: null }), 8 * 5);
    assert.equal(stepsOf({ game, sample: { seed: 1, permutations: 10 } }), 50);
  });

  it('continues after a task fails', async () => {
    const impossible: ShapleyTask = { game: { ...task(16).game, agents: 17 }, sample: null };
    await assert.rejects(pool.compute(impossible), /too many coalitions/);
    assert.equal((await pool.compute(task(13))).credits.length, 13);
  });

  it('refuses tasks beyond its queue limit', async () => {
    const asked = Array.from({ length: 40 }, () => pool.compute(task(12)));
    const settled = await Promise.allSettled(asked);
    const refused = settled.filter(({ status }) => status === 'rejected');
    assert.equal(refused.length, 8);
    for (const one of refused) {
      assert.equal((one as PromiseRejectedResult).reason.code, 'log_busy');
    }
    await pool.compute(task(12));
  });
});
