// What the product gets in place of the clocks and timers of Node.js.

import { world } from './world.ts';
import type { Pending } from './world.ts';

/** A timer: pending until it fires or is cleared. */
class Timer {
  #pending: Pending;

  constructor(ms: number, run: () => void, repeat: boolean) {
    const fire = (): void => {
      if (repeat) this.#pending = world().after(Math.max(1, ms) * 1000, fire);
      run();
    };
    this.#pending = world().after(Math.max(1, ms) * 1000, fire);
  }

  unref(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  clear(): void {
    this.#pending.cancelled = true;
  }
}

export const simulatedTimeout = (run: (...rest: unknown[]) => void, ms = 0, ...rest: unknown[]) =>
  new Timer(
    ms,
    () => {
      run(...rest);
    },
    false,
  );

export const simulatedInterval = (run: (...rest: unknown[]) => void, ms = 0, ...rest: unknown[]) =>
  new Timer(
    ms,
    () => {
      run(...rest);
    },
    true,
  );

export const simulatedClear = (timer: Timer | null | undefined): void => {
  timer?.clear();
};

/** A callback of the next turn. */
interface Immediate {
  cleared: boolean;
}

export const simulatedImmediate = (
  run: (...rest: unknown[]) => void,
  ...rest: unknown[]
): Immediate => {
  const immediate = { cleared: false };
  world().immediate(() => {
    if (!immediate.cleared) run(...rest);
  });
  return immediate;
};

export const simulatedClearImmediate = (immediate: Immediate): void => {
  immediate.cleared = true;
};

export const simulatedNow = (): number => world().wall_ms;

export const simulatedMonotonic = (): number => world().monotonic_ms;

/** `performance` of node:perf_hooks. The event loop is busy in every other second. */
export const performance = {
  now: simulatedMonotonic,
  eventLoopUtilization: () => ({ utilization: Math.floor(world().monotonic_ms / 1000) % 2 }),
};

/** `setTimeout` of node:timers/promises. */
export const setTimeout = <T>(ms = 0, value?: T): Promise<T | undefined> =>
  new Promise((resolve) => {
    simulatedTimeout(() => {
      resolve(value);
    }, ms);
  });

/** `Math.random`. */
export const simulatedChance = (): number => world().random('chance').u32() / 2 ** 32;

/** `AbortSignal.timeout`. */
export function simulatedDeadline(ms: number): AbortSignal {
  const controller = new AbortController();
  simulatedTimeout(() => {
    controller.abort(new DOMException('the operation took too long', 'TimeoutError'));
  }, ms);
  return controller.signal;
}
