// Computes Shapley values: short tasks immediately, long tasks one by one in a worker thread of the process. The queue
// of the thread is bounded.

import { ApiError, WorkerPool } from '../contract/index.ts';
import { shapleyOf, threadJobs } from './shapley.ts';
import type { Shapley, ShapleyTask } from './shapley.ts';

/** Tasks of at most this many steps (see `stepsOf`) run on the event loop; they take about a millisecond. */
const SHORT = 20_000;
/** Largest number of tasks that wait for the thread. */
const MAX_WAITING = 32;

/** The work of a task: its marginal contributions, weighted by the links that each one visits. */
export function stepsOf({ game, sample }: ShapleyTask): number {
  const links = game.type === 'edges' ? game.edges.length : 0;
  const walks = sample === null ? 2 ** game.agents : sample.permutations;
  return walks * (game.agents + 2 * links);
}

/** Measured nanoseconds of a draw and of visiting a link. A walk draws each agent once and visits each link twice. */
const DRAW_NS = 60;
const LINK_NS = 6;
/** Computing time that costs 1. */
const UNIT_NS = 20_000_000;

/** The cost of a task for `RouteDeclaration.cost`. Computing all coalitions of few agents costs less than 1. */
export function costOf({ game, sample }: ShapleyTask): number {
  if (sample === null) return 1;
  const links = game.type === 'edges' ? game.edges.length : 0;
  const walk_ns = game.agents * DRAW_NS + 2 * links * LINK_NS;
  return 1 + (sample.permutations * walk_ns) / UNIT_NS;
}

/** Computes tasks. The thread is started by the first long one. */
export class SharpPool {
  readonly #workers = new WorkerPool(threadJobs, { name: 'allocation', threads: 1 });

  /** Computes a task; 503 `log_busy` if the queue of the thread is full. */
  async compute(task: ShapleyTask): Promise<Shapley> {
    if (stepsOf(task) <= SHORT) return shapleyOf(task);
    if (this.#workers.waiting >= MAX_WAITING) {
      throw new ApiError('log_busy', 'too many allocations are being computed', {
        headers: { 'Retry-After': '1' },
      });
    }
    return this.#workers.run('compute', task);
  }
}
