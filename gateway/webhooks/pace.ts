// How fast a queue starts attempts, so that the service answers requests first (gateway/API.md §11).
//
// Attempts run on the event loop that answers requests. While the loop is busy, a queue starts few of them; the other
// messages wait in the database. They are sent when the loop has time again. Time is divided into windows. Each window
// has an allowance of attempts: the next one is twice as large if the attempts used this one up and left the loop time
// for requests, and half as large if they did not. It is never smaller than `LEAST`, which is the guarantee for a
// service that is always busy. An idle service starts an attempt at once.

import { performance } from 'node:perf_hooks';

/** The loop, as a pace measures it. */
export interface Loop {
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number;
  /** Share of the time since the last call in which the loop ran code, from 0 to 1. */
  readonly utilization: () => number;
}

/** Length of a window. */
const WINDOW_MS = 20;
/** Attempts that every window allows: 250 a second. */
const LEAST = 5;
/** Above this share of the loop's time, the attempts give way to requests. */
const BUSY = 0.75;
/** Windows that a late one stands for, so that turns longer than a window do not lower the guarantee. */
const MOST_WINDOWS = 5;

/** Measures the event loop of this thread. */
export function thisLoop(): Loop {
  let last = performance.eventLoopUtilization();
  return {
    now: () => performance.now(),
    utilization: () => {
      const current = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(current, last);
      last = current;
      return utilization;
    },
  };
}

/** Allows the attempts of one queue. */
export class Pace {
  readonly #loop: Loop;
  /** Attempts that a window allows. */
  #allowance = LEAST;
  /** Attempts that the current window still allows. */
  #left = LEAST;
  #ends_ms = -Infinity;

  constructor(loop: Loop) {
    this.#loop = loop;
  }

  /** Milliseconds until an attempt may start; 0 if it may now. */
  wait(): number {
    const now = this.#loop.now();
    if (now >= this.#ends_ms) this.#begin(now);
    return this.#left > 0 ? 0 : this.#ends_ms - now;
  }

  /** Notes that an attempt started. */
  started(): void {
    this.#left -= 1;
  }

  #begin(now: number): void {
    const busy = this.#loop.utilization() > BUSY;
    if (busy) this.#allowance = Math.max(LEAST, Math.floor(this.#allowance / 2));
    else if (this.#left === 0) this.#allowance *= 2;
    const windows = 1 + Math.floor((now - this.#ends_ms) / WINDOW_MS);
    this.#left = this.#allowance * Math.min(windows, MOST_WINDOWS);
    this.#ends_ms = now + WINDOW_MS;
  }
}
