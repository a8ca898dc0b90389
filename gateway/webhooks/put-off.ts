// Messages that failed and wait for their time. A wall clock says when that is, and it may be moved; so it is looked
// at, again and again, while anything waits. gateway/API.md §11.

import type { Log } from '../../log/index.ts';
import { LATER, laterJob, readyAgainRows } from './job.ts';
import type { Job } from './job.ts';
import type { RowWriter } from './row-writer.ts';

/** The clock is looked at this often. */
const LOOK_MS = 500;
/** Rows that are moved at a time. */
const PAGE = 256;

/** What the queue says of time, and is told. */
export interface PutOffOptions {
  readonly now: () => number;
  /** A job stands on disk and is ready. */
  readonly onReady: (job: Job) => void;
  readonly onTrouble: (error: unknown) => void;
}

/** Makes messages ready again at their time. */
export class PutOff {
  readonly #log: Log;
  readonly #writer: RowWriter;
  readonly #options: PutOffOptions;
  /** When the first one is due; 0 is "look", Infinity "there is none". */
  #next = Infinity;
  #moving: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #running = false;

  constructor(log: Log, writer: RowWriter, options: PutOffOptions) {
    this.#log = log;
    this.#writer = writer;
    this.#options = options;
  }

  /** Looks at the disk, as after a start. */
  wake(): void {
    this.#running = true;
    this.until(0);
    this.#look();
  }

  async stop(): Promise<void> {
    this.#running = false;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#moving;
  }

  /** A job was put off until then. */
  until(due_ms: number): void {
    this.#next = Math.min(this.#next, due_ms);
    this.#sleep();
  }

  #look(): void {
    if (this.#running && this.#next <= this.#options.now()) {
      this.#moving ??= this.#move().finally(() => {
        this.#moving = null;
        this.#sleep();
      });
    }
  }

  async #move(): Promise<void> {
    this.#next = Infinity;
    try {
      while (this.#running) {
        const jobs = (await this.#log.attachedRows(LATER, { limit: PAGE })).map(laterJob);
        const now = this.#options.now();
        const due = jobs.filter(([, due_ms]) => due_ms <= now);
        const rest = jobs[due.length];
        if (rest !== undefined) this.#next = Math.min(this.#next, rest[1]);
        if (due.length === 0) return;
        const moved = due.flatMap(([job, due_ms]) => readyAgainRows(job, due_ms));
        if (!(await this.#writer.write(moved))) return;
        for (const [job] of due) this.#options.onReady(job);
        if (jobs.length < PAGE) return;
      }
    } catch (error) {
      this.#options.onTrouble(error);
    }
  }

  #sleep(): void {
    if (this.#timer !== null || !this.#running || this.#next === Infinity) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#look();
      this.#sleep();
    }, LOOK_MS);
    this.#timer.unref();
  }
}
