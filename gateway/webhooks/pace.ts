// How fast a queue starts attempts, so that the service answers requests first (gateway/API.md §11).
//
// Each attempt takes time from the event loop that answers requests: the loop makes the message and records the result.
// While it is busy, a queue starts few attempts; the other messages wait in the database, and are sent when the loop has
// time again. Time is divided into windows, each with an
// allowance of attempts. It halves after a window in which the loop was busy, and doubles when it was used up although
// the loop had time in the last windows. It is never smaller than `LEAST`, which is the guarantee for a service that is
// always busy. After a pause without messages on a loop with time, it is large enough to send a burst at once.

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
/** Attempts that every window allows: 50 a second. */
const LEAST = 1;
/** Attempts that a window allows after a pause, if the loop has time. */
const FIRST = 64;
/** Above this share of the loop's time, the attempts give way to requests. */
const BUSY = 0.9;
/**
 * Windows over which the mean utilization is taken, because a single window varies. A late window also counts as up to
 * so many, so that long turns do not lower the guarantee.
 */
const WINDOWS = 5;

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
  /** Mean utilization of the last windows. */
  #mean = 0;

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
    const ended = 1 + Math.floor((now - this.#ends_ms) / WINDOW_MS);
    const windows = Math.min(WINDOWS, ended);
    const used = this.#loop.utilization();
    this.#mean += ((used - this.#mean) * windows) / WINDOWS;
    if (used > BUSY) this.#allowance = Math.max(LEAST, Math.floor(this.#allowance / 2));
    else if (windows === WINDOWS) this.#allowance = Math.max(FIRST, this.#allowance);
    else if (this.#left === 0 && this.#mean <= BUSY) this.#allowance *= 2;
    this.#left = this.#allowance * windows;
    // Not from now on: windows that each begin a little late would allow less than LEAST of them.
    this.#ends_ms = ended > WINDOWS ? now + WINDOW_MS : this.#ends_ms + ended * WINDOW_MS;
  }
}
