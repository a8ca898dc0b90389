// One simulated machine room: virtual time, one queue of pending completions and timers, and the processes that they
// belong to. Nothing in it is real: no I/O, no thread, no clock. The seed decides how long each operation takes, and
// with that the order in which they complete, so one seed always gives the same run.
//
// The product is linked against modules of this folder in place of node:fs, node:crypto, classic-level, pg and the
// timers (../link.ts). They act on the world of the moment, which `inWorld` sets.

import { Random } from './random.ts';

/** What the processes of one machine share. */
export interface Machine {
  /** Milliseconds by which its wall clock is off. */
  readonly skew_ms: number;
  /** Microseconds for which its monotonic clock did not run, because the machine was suspended. */
  readonly suspended_us: number;
  /** Called before code of one of its processes runs: its disk becomes the one that the product reads and writes. */
  enter(): void;
}

/** A process of the product. After a crash none of its callbacks runs any more, and none of its operations completes. */
export class Process {
  readonly name: string;
  /** Null where a world has one machine. */
  readonly machine: Machine | null;
  alive = true;
  /** What has become due while the process was paused; null while it runs. */
  deferred: Pending[] | null = null;

  constructor(name: string, machine: Machine | null = null) {
    this.name = name;
    this.machine = machine;
  }
}

/** What a rule of the log or a promise of the product was broken by. `kind` is stable, so that a shrunk run can be compared. */
export class Broken extends Error {
  readonly kind: string;

  constructor(kind: string, message: string) {
    super(`${kind}: ${message}`);
    this.kind = kind;
  }
}

/** A pending completion or timer. */
export interface Pending {
  readonly at_us: number;
  readonly tie: number;
  readonly process: Process;
  readonly run: () => void;
  cancelled: boolean;
}

/** Microseconds that an operation takes: the bounds of the fast case, and how often it takes up to a hundred times longer. */
export interface Latency {
  readonly from_us: number;
  readonly to_us: number;
  readonly slow: number;
}

/** When every world begins, in milliseconds of UTC. */
export const START_MS = 1_790_000_000_000;

/** Turns of immediates after one completion. Code that waits in a loop of immediates gets no more than this. */
const IMMEDIATE_TURNS = 3;

export class World {
  readonly seed: string;
  now_us = 0;
  /** Milliseconds by which the wall clock is off. */
  skew_ms = 0;
  /** The first broken promise that was found outside a check: an uncaught exception or rejection. */
  broken: Broken | null = null;
  /** Lines of what happened, if the run is traced. */
  readonly lines: string[] | null;
  /** Completions so far. */
  events = 0;
  /** Factor on the time of every operation of a disk; more than 1 for a slow disk. */
  slowness = 1;
  readonly #order: Random;
  readonly #names = new Map<string, Random>();
  readonly #heap: Pending[] = [];
  #immediates: { readonly process: Process; readonly run: () => void }[] = [];
  #current: Process;
  /** Whether several processes run side by side, so that a trace names them. */
  readonly #several: boolean;

  constructor(seed: string, options: { readonly traced: boolean; readonly several?: boolean }) {
    this.seed = seed;
    this.lines = options.traced ? [] : null;
    this.#order = new Random(`${seed} order`);
    this.#current = new Process('outside');
    this.#several = options.several === true;
  }

  /** The randomness of one concern: a draw for one does not move those of another. */
  random(name: string): Random {
    let random = this.#names.get(name);
    if (random === undefined) {
      random = new Random(`${this.seed} ${name}`);
      this.#names.set(name, random);
    }
    return random;
  }

  get wall_ms(): number {
    const own_ms = this.current.machine?.skew_ms ?? 0;
    return START_MS + Math.floor(this.now_us / 1000) + this.skew_ms + own_ms;
  }

  get monotonic_ms(): number {
    return 1000 + (this.now_us - (this.current.machine?.suspended_us ?? 0)) / 1000;
  }

  /** The process whose code runs. */
  get current(): Process {
    return this.#current;
  }

  /**
   * Runs code as a process. It stays the current one behind each `await`, until the next completion: a process that
   * resolves a promise of another one does so by `after`, and code outside of `turn` runs as a second process only
   * behind `settle`.
   */
  as<T>(process: Process, run: () => T): T {
    this.#current = process;
    process.machine?.enter();
    return run();
  }

  /** Lets everything run that follows from what has completed. */
  settle(): Promise<void> {
    return settled();
  }

  trace(line: () => string): void {
    if (this.lines === null) return;
    const ms = (this.now_us / 1000).toFixed(3).padStart(10);
    const name = this.#several ? ` ${this.current.name.padEnd(8)}` : '';
    this.lines.push(`${ms}${name}  ${line()}`);
  }

  /** Runs a callback after a time, unless its process has ended by then. */
  after(us: number, run: () => void, process = this.current): Pending {
    const pending = {
      at_us: this.now_us + Math.max(0, Math.round(us)),
      tie: this.#order.u32(),
      process,
      run,
      cancelled: false,
    };
    push(this.#heap, pending);
    return pending;
  }

  immediate(run: () => void): void {
    this.#immediates.push({ process: this.current, run });
  }

  /** How long an operation takes. */
  duration({ from_us, to_us, slow }: Latency): number {
    const us = this.#order.between(from_us, to_us);
    return (this.#order.chance(slow) ? us * this.#order.between(2, 100) : us) * this.slowness;
  }

  /**
   * An operation outside the program: `work` takes effect when it completes. If the process ends first, it does not
   * take effect, and the promise never settles.
   */
  operation<T>(latency: Latency, work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.after(this.duration(latency), () => {
        try {
          resolve(work());
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      });
    });
  }

  /** Lets the next operation complete, and everything run that follows from it. False if nothing is pending. */
  async turn(): Promise<boolean> {
    await settled();
    const ran = await this.#runImmediates();
    let next = pop(this.#heap);
    while (next !== undefined && (next.cancelled || !next.process.alive || deferred(next))) {
      next = pop(this.#heap);
    }
    if (next !== undefined) {
      this.events += 1;
      this.now_us = Math.max(this.now_us, next.at_us);
      this.#run(next);
      await settled();
      for (let turns = 0; turns < IMMEDIATE_TURNS && (await this.#runImmediates()); turns += 1);
    }
    this.check();
    return ran || next !== undefined;
  }

  /** Throws what was found outside a check. */
  check(): void {
    if (this.broken !== null) throw this.broken;
  }

  async #runImmediates(): Promise<boolean> {
    const due = this.#immediates;
    this.#immediates = [];
    let ran = false;
    for (const one of due) {
      if (!one.process.alive) continue;
      if (one.process.deferred !== null) {
        this.#immediates.push(one);
        continue;
      }
      this.#run(one);
      ran = true;
      await settled();
    }
    return ran;
  }

  /** Lets operations complete until a condition holds. False if the virtual time runs out first. */
  async until(condition: () => boolean, limit_ms: number): Promise<boolean> {
    const end_us = this.now_us + limit_ms * 1000;
    await settled();
    while (!condition()) {
      if (this.now_us > end_us || !(await this.turn())) return condition();
    }
    return true;
  }

  /** Lets a time pass. */
  async pass(ms: number): Promise<void> {
    const time = { over: false };
    this.after(ms * 1000, () => (time.over = true), new Process('time'));
    while (!time.over) await this.turn();
  }

  /** Ends a process. */
  async end(process: Process): Promise<void> {
    await settled();
    process.alive = false;
    this.#immediates = this.#immediates.filter((one) => one.process.alive);
    await settled();
  }

  /** Keeps code of a process from running until `resume`. */
  pause(process: Process): void {
    process.deferred ??= [];
  }

  /** Lets a process go on: with everything that has become due meanwhile. */
  resume(process: Process): void {
    const due = process.deferred ?? [];
    process.deferred = null;
    for (const one of due) push(this.#heap, one);
  }

  #run({ process, run }: { readonly process: Process; readonly run: () => void }): void {
    try {
      this.as(process, run);
    } catch (error) {
      this.broken ??= new Broken('uncaught', (error as Error).stack ?? String(error));
    }
  }
}

/** Resolves when all microtasks have run. */
const settled = (): Promise<void> =>
  new Promise((resolve) => {
    globalThis.setImmediate(resolve);
  });

/** Puts a completion aside if its process is paused. */
function deferred(pending: Pending): boolean {
  if (pending.process.deferred === null) return false;
  pending.process.deferred.push(pending);
  return true;
}

const before = (a: Pending, b: Pending): boolean =>
  a.at_us < b.at_us || (a.at_us === b.at_us && a.tie < b.tie);

function push(heap: Pending[], one: Pending): void {
  let at = heap.length;
  while (at > 0) {
    const up = (at - 1) >> 1;
    const parent = heap[up];
    if (parent === undefined || before(parent, one)) break;
    heap[at] = parent;
    at = up;
  }
  heap[at] = one;
}

function pop(heap: Pending[]): Pending | undefined {
  const [first] = heap;
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return first;
  let at = 0;
  for (;;) {
    let down = 2 * at + 1;
    if (down >= heap.length) break;
    const [left, right] = [heap[down], heap[down + 1]];
    if (left !== undefined && right !== undefined && before(right, left)) down += 1;
    const child = heap[down];
    if (child === undefined || before(last, child)) break;
    heap[at] = child;
    at = down;
  }
  heap[at] = last;
  return first;
}

let present: World | null = null;

/** The world that the modules in place of those of Node.js act on. */
export function world(): World {
  if (present === null) throw new Error('no world is simulated');
  return present;
}

/** Randomness for modules that draw while they are loaded, before there is a world. */
const loading = new Random('loading');

/** The random values of the present world. */
export const randomness = (): Random => present?.random('crypto') ?? loading;

/** Runs a simulation in a world. An unhandled rejection in it is a finding, because it would end a real process. */
export async function inWorld<T>(own: World, run: () => Promise<T>): Promise<T> {
  present = own;
  const rejected = (reason: unknown): void => {
    const text = reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);
    own.broken ??= new Broken('unhandled rejection', text);
  };
  process.on('unhandledRejection', rejected);
  try {
    return await run();
  } finally {
    process.off('unhandledRejection', rejected);
    present = null;
  }
}
