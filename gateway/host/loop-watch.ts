// Reports code that blocks the event loop, with the plugin and the part of it that ran.
//
// The synchronous run of a part (a projection, or a handler up to its first await) is measured, and is named exactly. The
// rest of a handler runs in turns that nothing here sees; a timer that fires late finds that one of them blocked, and
// names the parts that were running: usually one. A part costs three reads of a clock; the timer runs ten times a second.

import type { Logger } from 'pino';
import type { EntryType } from '../../log/index.ts';
import type { Metrics } from '../metrics.ts';

/** From this time on a block is reported, in milliseconds. */
export const BLOCKED_MS = 1000;

/** How exactly a block is measured that only the timer sees: it may have been shorter by this time. */
const TICK_MS = 100;
/** Parts that a line of the log names at most. */
const MAX_NAMED = 8;

/** Code of a plugin that the gateway runs. It also counts how often it runs now. */
export interface Part {
  /** `gateway` for parts of the gateway itself. */
  readonly plugin: string;
  /** `route POST /notes`, `projection of notes.note.v1` or `command notes tidy`. */
  readonly name: string;
  open: number;
  /** When it was left last; -1 before. */
  left: number;
}

/** Makes a part, which does not run yet. */
export const partOf = (plugin: string, name: string): Part => ({ plugin, name, open: 0, left: -1 });

/** A block of the event loop, as it is reported. */
export interface Blocked {
  /** What ran: exactly one if it is known, none if no part ran. */
  readonly parts: readonly Part[];
  readonly blocked_ms: number;
  /** Processor time that the process used since the last tick: little where the machine did not let it run. */
  readonly cpu_ms: number;
}

/** Measures what runs on the event loop. */
export class LoopWatch {
  readonly #report: (blocked: Blocked) => void;
  readonly #now: () => number;
  /** Every part that has run. */
  readonly #parts: Part[] = [];
  readonly #byName = new Map<string, Part>();
  #last: number;
  #cpu: NodeJS.CpuUsage;
  /** Time since the last tick that has been reported. */
  #explained_ms = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `now` is a monotonic clock. */
  constructor(report: (blocked: Blocked) => void, now: () => number = () => performance.now()) {
    this.#report = report;
    this.#now = now;
    this.#last = now();
    this.#cpu = process.cpuUsage();
  }

  /** Starts to look for blocks. The timer does not keep the process alive. */
  start(): void {
    this.#last = this.#now();
    this.#timer = setInterval(() => {
      this.tick();
    }, TICK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** The part of this name, which is made when it is asked for first. */
  part(plugin: string, name: string): Part {
    const key = `${plugin}: ${name}`;
    let part = this.#byName.get(key);
    if (part === undefined) this.#byName.set(key, (part = partOf(plugin, name)));
    return part;
  }

  /** Marks that a part begins to run. Returns the time, for `ran`. */
  enter(part: Part): number {
    if (part.open === 0 && part.left < 0) this.#parts.push(part);
    part.open += 1;
    return this.#now();
  }

  /** Marks that a part ended or awaits something, after it ran without a break since `from`. */
  ran(part: Part, from: number): void {
    const blocked_ms = this.#now() - from;
    if (blocked_ms < BLOCKED_MS) return;
    this.#explained_ms += blocked_ms;
    this.#report({ parts: [part], blocked_ms, cpu_ms: this.#cpuMs() });
  }

  /** Marks that a part ended. */
  leave(part: Part): void {
    part.open -= 1;
    part.left = this.#now();
  }

  /** Runs a part that ends when it returns. */
  timed<T>(part: Part, run: () => T): T {
    const from = this.#now();
    try {
      return run();
    } finally {
      this.ran(part, from);
    }
  }

  /** Runs a part that ends when its promise does. */
  async running<T>(part: Part, run: () => Promise<T>): Promise<T> {
    const from = this.enter(part);
    try {
      const result = run();
      this.ran(part, from);
      return await result;
    } finally {
      this.leave(part);
    }
  }

  /** Looks whether the last tick was too long ago for reasons that were not reported. */
  tick(): void {
    const blocked_ms = this.#now() - this.#last;
    if (blocked_ms - this.#explained_ms >= BLOCKED_MS) {
      // What blocked was left at the end of the block or later, if at all.
      const end = this.#last + BLOCKED_MS - TICK_MS;
      const parts = this.#parts.filter(({ open, left }) => open > 0 || left >= end);
      this.#report({ parts, blocked_ms, cpu_ms: this.#cpuMs() });
    }
    this.#explained_ms = 0;
    this.#cpu = process.cpuUsage();
    this.#last = this.#now();
  }

  /** The types with their projections measured. */
  watched(plugin: string, types: readonly EntryType[]): readonly EntryType[] {
    return types.map((type): EntryType => {
      const { project, watch } = type;
      if (project === undefined && watch === undefined) return type;
      const part = partOf(plugin, `projection of ${type.name}`);
      const measured =
        <A, B>(rule: (entry: A, rows: B) => unknown) =>
        (entry: A, rows: B): void => {
          const from = this.#now();
          // A plugin in JavaScript may return a promise, which the log refuses.
          const result = rule(entry, rows);
          this.ran(part, from);
          return result as undefined;
        };
      return {
        ...type,
        ...(project === undefined ? {} : { project: measured(project.bind(type)) }),
        ...(watch === undefined
          ? {}
          : {
              watch: {
                ...watch,
                project: measured(watch.project.bind(watch)),
                ...(watch.admit === undefined ? {} : { admit: measured(watch.admit.bind(watch)) }),
              },
            }),
      };
    });
  }

  #cpuMs(): number {
    const { user, system } = process.cpuUsage(this.#cpu);
    return (user + system) / 1000;
  }
}

/** Writes a block to the log and counts it. */
export const reportsBlocks =
  (logger: Logger, metrics: Pick<Metrics, 'blocked'>) =>
  ({ parts, blocked_ms, cpu_ms }: Blocked): void => {
    const [part, another] = parts;
    const times = { blocked_ms: Math.round(blocked_ms), cpu_ms: Math.round(cpu_ms) };
    if (part === undefined) {
      metrics.blocked('none', 'none');
      logger.warn(times, 'the event loop was blocked, while no route, command or job ran');
    } else if (another === undefined) {
      metrics.blocked(part.plugin, part.name);
      const { plugin, name } = part;
      logger.warn({ plugin, part: name, ...times }, 'the event loop was blocked by this part');
    } else {
      metrics.blocked('several', 'several');
      const names = parts.slice(0, MAX_NAMED).map(({ plugin, name }) => `${plugin}: ${name}`);
      logger.warn({ parts: names, ...times }, 'the event loop was blocked by one of these parts');
    }
  };
