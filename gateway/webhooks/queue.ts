// The queue of one log's messages: reads what is due from disk, hands it out within bounds, and writes what became
// of it. In memory are only the jobs under way and, for each shard, when it has to be looked at again; so a restart
// goes on where the disk says. Delivered means: its row is gone. A crash in between sends a message again.
// behaviour.md §11.

import type { AttachedRow, Log } from '../../log/index.ts';
import type { Outcome } from './delivery.ts';
import {
  deadRow,
  doneRows,
  dueJob,
  duePrefix,
  dueRow,
  laneJob,
  lanePrefix,
  parkedRows,
  SHARDS,
} from './job.ts';
import type { Job } from './job.ts';
import { waitAfter } from './schedule.ts';

/** How the queue is run. */
export interface QueueOptions {
  /** Messages under way of one shard: so many at most for any host. */
  readonly for_each_shard: number;
  /** Messages under way of all. */
  readonly for_all: number;
  readonly now: () => number;
  /** From 0 to 1. */
  readonly chance: () => number;
  readonly attempt: (log: Log, job: Job) => Promise<Outcome>;
  readonly onEnd: (log: Log, job: Job, outcome: Outcome) => void;
  readonly onTrouble: (error: unknown) => void;
}

/** Time and clock are looked at this often while something waits. */
const LOOK_MS = 500;
/** How long to leave a disk alone that took no write. */
const TROUBLE_MS = 2000;
/** Read of a shard beyond what there is room for: some rows turn out to wait for another. */
const MARGIN = 16;
/** Ends of attempts that wait to be written; no more are begun beyond it. */
const MAX_UNWRITTEN = 4096;

/** Delivers the messages of one log. */
export class Queue {
  readonly #log: Log;
  readonly #options: QueueOptions;
  /** For each shard: when its next job is due; 0 is "look", Infinity "nothing there". */
  readonly #next = new Float64Array(SHARDS);
  readonly #flying = new Uint32Array(SHARDS);
  /** Jobs that are under way, or whose end is not on disk yet, by name; and the lanes that they hold. */
  readonly #busy = new Set<string>();
  readonly #lanes = new Set<string>();
  /** Jobs that ended while a shard was being read: what was read of them is old. */
  readonly #ended = new Set<string>();
  /** Entries that are placed and not acknowledged yet. */
  readonly #held = new Set<number>();
  #inFlight = 0;
  #unwritten: { readonly rows: readonly AttachedRow[]; readonly done: () => void }[] = [];
  #writing: Promise<void> | null = null;
  #looking: Promise<void> | null = null;
  #again = false;
  #timer: NodeJS.Timeout | null = null;
  #running = false;
  #idle: (() => void)[] = [];

  constructor(log: Log, options: QueueOptions) {
    this.#log = log;
    this.#options = options;
  }

  start(): void {
    this.#running = true;
    this.#look();
  }

  /** Begins nothing more, waits for what is under way, writes how it ended. */
  async stop(): Promise<void> {
    this.#running = false;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#looking;
    while (this.#inFlight > 0) await new Promise<void>((done) => this.#idle.push(done));
    await this.#writing;
  }

  /** Leaves the jobs of an entry alone until it is acknowledged. */
  hold(index: number): void {
    this.#held.add(index);
  }

  /** The entry is acknowledged, or refused: its jobs are like any other. */
  release(indexes: readonly number[], shards: readonly number[]): void {
    for (const index of indexes) this.#held.delete(index);
    for (const shard of shards) this.#next[shard] = 0;
    this.#look();
  }

  /** Looks at everything again, as after a start. */
  wake(): void {
    this.#next.fill(0);
    this.#look();
  }

  #look(): void {
    if (!this.#running) return;
    this.#again = true;
    this.#looking ??= this.#lookAround().finally(() => {
      this.#looking = null;
      this.#sleep();
    });
  }

  async #lookAround(): Promise<void> {
    do {
      this.#again = false;
      for (let shard = 0; shard < SHARDS; shard += 1) {
        const due = (this.#next[shard] ?? 0) <= this.#options.now();
        if (due && this.#room(shard) > 0) await this.#take(shard).catch(this.#options.onTrouble);
      }
    } while (this.#again as boolean);
  }

  #room(shard: number): number {
    const { for_each_shard, for_all } = this.#options;
    if (!this.#running || this.#unwritten.length >= MAX_UNWRITTEN) return 0;
    return Math.min(for_each_shard - (this.#flying[shard] ?? 0), for_all - this.#inFlight);
  }

  /** Begins what is due in a shard, as far as there is room, and notes when to look again. */
  async #take(shard: number): Promise<void> {
    this.#next[shard] = this.#options.now() + TROUBLE_MS;
    const limit = this.#room(shard) + MARGIN + this.#busy.size + this.#held.size;
    this.#ended.clear();
    const rows = await this.#log.attachedRows(duePrefix(shard), { limit });
    let next = rows.length < limit ? Infinity : 0;
    for (const row of rows) {
      const job = dueJob(row);
      // A free place, or the end of what stands in the way, looks at the shard again.
      if (this.#held.has(job.index) || this.#busy.has(row[0]) || this.#ended.has(row[0])) continue;
      if (job.due_ms > this.#options.now()) {
        next = job.due_ms;
        break;
      }
      if (this.#room(shard) <= 0) {
        next = 0;
        break;
      }
      const lane = lanePrefix(job);
      if (lane !== null) {
        if (this.#lanes.has(lane)) continue;
        const [head] = await this.#log.attachedRows(lane, { limit: 1 });
        if (head === undefined || laneJob(head).index !== job.index) {
          // Another stands before it and will call it; or it is done already.
          this.#busy.add(row[0]);
          this.#write(parkedRows(job), () => this.#free(row[0]));
          continue;
        }
        this.#lanes.add(lane);
      }
      this.#begin(row[0], job, lane);
    }
    // While this was read, something new may have come.
    this.#next[shard] = this.#next[shard] === 0 ? 0 : next;
  }

  #begin(name: string, job: Job, lane: string | null): void {
    const { shard } = job;
    this.#busy.add(name);
    this.#flying[shard] = (this.#flying[shard] ?? 0) + 1;
    this.#inFlight += 1;
    this.#options
      .attempt(this.#log, job)
      .catch((error: unknown): Outcome => {
        this.#options.onTrouble(error);
        return { end: 'failed', reason: 'failed', retry_after_ms: 0 };
      })
      .then(async (outcome) => {
        const rows = await this.#end(job, lane, outcome);
        this.#write(rows, () => {
          this.#free(name);
          if (lane !== null) this.#lanes.delete(lane);
          this.#next[shard] = 0;
          this.#look();
        });
      })
      .catch(this.#options.onTrouble)
      .finally(() => {
        this.#flying[shard] = (this.#flying[shard] ?? 1) - 1;
        this.#inFlight -= 1;
        this.#look();
        if (this.#inFlight === 0) for (const idle of this.#idle.splice(0)) idle();
      });
  }

  #free(name: string): void {
    this.#busy.delete(name);
    this.#ended.add(name);
  }

  /** The rows that an attempt leaves. */
  async #end(job: Job, lane: string | null, outcome: Outcome): Promise<AttachedRow[]> {
    const { now, chance, onEnd } = this.#options;
    // Cut off by the stop: it counts for nothing.
    if (!this.#running && outcome.end === 'failed') return [];
    const attempts = job.attempts + 1;
    if (outcome.end === 'failed') {
      const wait = waitAfter(attempts, chance(), outcome.retry_after_ms);
      if (wait !== null) {
        onEnd(this.#log, job, outcome);
        const [due] = doneRows(job);
        const next = dueRow({ ...job, attempts, due_ms: now() + wait });
        return due === undefined ? [next] : [due, next];
      }
    }
    const given = outcome.end === 'failed' ? { ...outcome, end: 'dead' as const } : outcome;
    onEnd(this.#log, job, given);
    const { due_ms: _, ...rest } = job;
    return [
      ...doneRows(job),
      ...(given.end === 'dead'
        ? [deadRow({ ...rest, attempts, died_at_ms: now(), reason: given.reason })]
        : []),
      ...(lane === null ? [] : await this.#called(job, lane)),
    ];
  }

  /** The next job of a lane, under the name that it had: where its row still stands it is the same row. */
  async #called({ index }: Job, lane: string): Promise<AttachedRow[]> {
    const waiting = (await this.#log.attachedRows(lane, { limit: 2 })).map(laneJob);
    const next = waiting.find((job) => job.index !== index);
    return next === undefined ? [] : [dueRow(next)];
  }

  /** Writes rows in the order given, many at a time; `done` once they are on disk. */
  #write(rows: readonly AttachedRow[], done: () => void): void {
    this.#unwritten.push({ rows, done });
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = null;
    });
  }

  async #writeAll(): Promise<void> {
    while (this.#unwritten.length > 0) {
      const batch = this.#unwritten;
      this.#unwritten = [];
      try {
        const rows = batch.flatMap((one) => one.rows);
        if (rows.length > 0) await this.#log.putAttached(rows);
      } catch (error) {
        this.#options.onTrouble(error);
        this.#unwritten = [...batch, ...this.#unwritten];
        // What is not written is sent again after a restart: nothing is lost by ending here.
        if (!this.#running) return;
        await new Promise((resolve) => setTimeout(resolve, TROUBLE_MS));
        continue;
      }
      for (const { done } of batch) done();
    }
  }

  #sleep(): void {
    if (!this.#running) return;
    if (this.#again) {
      this.#look();
      return;
    }
    if (this.#timer !== null) clearTimeout(this.#timer);
    const next = Math.min(...this.#next);
    // The clock is not the timer's: it may be moved.
    this.#timer = next === Infinity ? null : setTimeout(() => this.#look(), LOOK_MS);
    this.#timer?.unref();
  }
}
