// Who waits for a checkpoint over a size: answered by the first one that covers it.

import { LogError } from '../errors.ts';
import type { Published } from '../types.ts';

interface Waiter {
  readonly size: number;
  readonly resolve: (published: Published) => void;
  readonly reject: (error: LogError) => void;
}

/** Those who wait for checkpoints of one log, across failures of its store. */
export class Waiters {
  #waiting: Waiter[] = [];

  /** The sizes that are waited for. */
  get sizes(): readonly number[] {
    return this.#waiting.map(({ size }) => size);
  }

  /** Rejects with `log_unavailable` when the signal or the log ends the wait. */
  wait(size: number, signal?: AbortSignal): Promise<Published> {
    if (signal?.aborted === true) return Promise.reject(gaveUp());
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        this.#waiting = this.#waiting.filter((other) => other !== waiter);
        reject(gaveUp());
      };
      const waiter: Waiter = {
        size,
        resolve: (published) => {
          signal?.removeEventListener('abort', giveUp);
          resolve(published);
        },
        reject,
      };
      this.#waiting.push(waiter);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  tell(published: Published): void {
    const due = this.#waiting.filter(({ size }) => size <= published.size);
    this.#waiting = this.#waiting.filter(({ size }) => size > published.size);
    for (const { resolve } of due) resolve(published);
  }

  end(error: LogError): void {
    for (const { reject } of this.#waiting) reject(error);
    this.#waiting = [];
  }
}

const gaveUp = (): LogError =>
  new LogError('log_unavailable', 'nobody waits for this checkpoint any more');
