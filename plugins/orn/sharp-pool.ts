// Computes Shapley values: short tasks at once, long ones in order in one worker thread of the process. The number of
// tasks that wait for the thread is bounded.

import { ApiError, WorkerPool } from '../contract/index.ts';
import { shapleyOf, threadJobs } from './shapley.ts';
import type { Shapley, ShapleyTask } from './shapley.ts';

/** Steps, see `stepsOf`, that hold the event loop up less than a signature does: about a millisecond. */
const SHORT = 20_000;
/** Tasks that wait for the thread at a time. */
const MAX_WAITING = 32;

/** Marginal contributions that a task takes, weighed by the links that each looks at. */
export function stepsOf({ game, sample }: ShapleyTask): number {
  const links = game.type === 'edges' ? game.edges.length : 0;
  const walks = sample === null ? 2 ** game.agents : sample.permutations;
  return walks * (game.agents + 2 * links);
}

/** Nanoseconds of a draw and of a look at a link, as measured; a walk has one of each agent and two of each link. */
const DRAW_NS = 60;
const LINK_NS = 6;
/** What a request may take before it costs more than 1. */
const UNIT_NS = 20_000_000;

/** What a task costs, as `RouteDeclaration.cost` counts. Of few agents, all coalitions take less than 1. */
export function costOf({ game, sample }: ShapleyTask): number {
  if (sample === null) return 1;
  const links = game.type === 'edges' ? game.edges.length : 0;
  const walk_ns = game.agents * DRAW_NS + 2 * links * LINK_NS;
  return 1 + (sample.permutations * walk_ns) / UNIT_NS;
}

/** Computes tasks; a thread starts with the first long one. */
export class SharpPool {
  readonly #workers = new WorkerPool(threadJobs, { name: 'allocation', threads: 1 });

  /** The values of a task; 503 `log_busy` while too many wait. */
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
