// Where Shapley values are computed: short ones at once, long ones in one thread of the process, off the event loop,
// in the order of their coming and never more waiting than it soon does.

import type { Worker } from 'node:worker_threads';
import { ApiError, startThread } from '../contract/index.ts';
import { shapleyOf } from './shapley.ts';
import type { Shapley, ShapleyTask } from './shapley.ts';

/** A task on its way to the thread. */
export interface SharpRequest {
  readonly id: number;
  readonly task: ShapleyTask;
}

/** What the thread makes of it. */
export type SharpAnswer =
  | { readonly id: number; readonly result: Shapley }
  | { readonly id: number; readonly failed: string };

/** Steps, see `stepsOf`, that hold the event loop up less than a signature does: about a millisecond. */
const SHORT = 20_000;
/** Tasks that wait for the thread at a time. */
const MAX_WAITING = 32;

interface Waiting {
  readonly resolve: (result: Shapley) => void;
  readonly reject: (error: Error) => void;
}

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
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #nextId = 0;

  /** The values of a task; 503 `log_busy` while too many wait. */
  async compute(task: ShapleyTask): Promise<Shapley> {
    if (stepsOf(task) <= SHORT) return shapleyOf(task);
    if (this.#waiting.size >= MAX_WAITING) {
      throw new ApiError('log_busy', 'too many allocations are being computed', {
        headers: { 'Retry-After': '1' },
      });
    }
    const worker = this.#worker ?? this.#start();
    const id = this.#nextId;
    this.#nextId += 1;
    return new Promise((resolve, reject) => {
      if (this.#waiting.size === 0) worker.ref(); // a process waits for its answers
      this.#waiting.set(id, { resolve, reject });
      const request: SharpRequest = { id, task };
      worker.postMessage(request);
    });
  }

  /** A dead thread is replaced when the next task comes. */
  #start(): Worker {
    const worker = startThread(import.meta.url, './sharp-thread');
    worker.unref(); // an idle thread keeps no process alive
    worker.on('message', (answer: SharpAnswer) => {
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if (this.#waiting.size === 0) worker.unref();
      if ('failed' in answer) waiting?.reject(new Error(answer.failed));
      else waiting?.resolve(answer.result);
    });
    worker.on('error', (error: unknown) => {
      this.#lose(worker, error instanceof Error ? error : new Error(String(error)));
    });
    worker.on('exit', () => {
      this.#lose(worker, new Error('the thread of allocations ended'));
    });
    this.#worker = worker;
    return worker;
  }

  #lose(worker: Worker, error: Error): void {
    if (worker !== this.#worker) return;
    this.#worker = null;
    const lost = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of lost) reject(error);
  }
}
