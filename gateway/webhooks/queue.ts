// The delivery queue of one log (gateway/API.md §11).
//
// The rows in the database are the queue (job.ts). Memory holds the jobs that are in flight and a few jobs of each host
// (hosts.ts), so a restart continues from what the rows say. A message counts as delivered when its row is deleted.
// After a crash between delivery and deletion the message is sent again, which receivers must expect.
//
// Read `Queue` first: it starts jobs, host by host in turn, as fast as pace.ts allows, and writes the result of each
// attempt. `DelayedJobs` makes failed jobs ready again when they are due. `RowWriter` writes all rows, in batches.

import type { AttachedRow, Log } from '../../log/index.ts';
import { tenantRef } from './dead-letters.ts';
import { waitAfter } from './delivery.ts';
import type { Outcome } from './delivery.ts';
import { Hosts } from './hosts.ts';
import type { HostQueue } from './hosts.ts';
import {
  deadRows,
  doneRows,
  laneJob,
  lanePrefix,
  LATER,
  laterJob,
  laterRows,
  nameOf,
  noReadyRow,
  readyAgainRows,
  readyRow,
} from './job.ts';
import type { Job } from './job.ts';
import type { Pace } from './pace.ts';

/** Limits and callbacks of a queue. */
export interface QueueOptions {
  /** Maximum number of messages in flight to one host. */
  readonly for_each_host: number;
  /** Maximum number of messages in flight in total. */
  readonly for_all: number;
  /** How fast attempts may start. */
  readonly pace: Pace;
  readonly now: () => number;
  /** A random number from 0 to 1, for the jitter of retries. */
  readonly chance: () => number;
  readonly attempt: (log: Log, job: Job) => Promise<Outcome>;
  readonly onEnd: (log: Log, job: Job, outcome: Outcome) => void;
  readonly onTrouble: (error: unknown) => void;
}

/** The result of an attempt: the rows to write, and the job that is ready or due once they are written. */
interface AttemptResult {
  readonly rows: readonly AttachedRow[];
  readonly next?: Job | undefined;
  readonly due_ms?: number;
}

/** How long the queue waits after the database failed. */
const TROUBLE_MS = 2000;
/** No attempt starts while the results of so many attempts wait to be written. */
const MAX_UNWRITTEN = 4096;
/** Attempts that start in one turn of the event loop, so that requests are served in between. */
const STARTS_PER_TURN = 4;
/** How often the wall clock is compared with the next due time. One long timer would miss a clock that is set. */
const CLOCK_CHECK_MS = 500;
/** Delayed rows that are read and moved at a time. */
const DELAYED_PAGE = 256;
/** How long rows are collected into one batch. */
const GATHER_MS = 5;

/** Delivers the messages of one log. */
export class Queue {
  readonly #log: Log;
  readonly #options: QueueOptions;
  readonly #writer: RowWriter;
  readonly #hosts: Hosts;
  readonly #delayed: DelayedJobs;
  /** Names of the jobs that are in flight or whose result is not written yet. */
  readonly #busy = new Set<string>();
  /** Lanes with a job in flight, and the loaded jobs that wait for it. */
  readonly #lanes = new Map<string, Job[]>();
  /** Indexes of entries that are sequenced but not acknowledged yet. */
  readonly #held = new Set<number>();
  #inFlight = 0;
  #turn: NodeJS.Immediate | null = null;
  /** Runs while no attempt may start, because requests come first. */
  #pause: NodeJS.Timeout | null = null;
  #running = false;
  #onIdle: (() => void)[] = [];

  constructor(log: Log, options: QueueOptions) {
    const { for_each_host, now, onTrouble } = options;
    this.#log = log;
    this.#options = options;
    this.#writer = new RowWriter(log, onTrouble);
    this.#hosts = new Hosts(log, {
      for_each_host,
      isTaken: (job) => this.#held.has(job.index) || this.#busy.has(nameOf(job)),
      onReady: () => this.#schedule(),
      onTrouble: (error) => this.#trouble(error),
    });
    this.#delayed = new DelayedJobs(log, this.#writer, {
      now,
      onReady: (job) => this.#put(job),
      onTrouble: (error) => this.#trouble(error),
    });
  }

  start(): void {
    this.#running = true;
    this.#writer.start();
    this.wake();
  }

  /** Starts no further attempts, waits for those in flight and writes their results. */
  async stop(): Promise<void> {
    this.#running = false;
    if (this.#turn !== null) clearImmediate(this.#turn);
    this.#turn = null;
    if (this.#pause !== null) clearTimeout(this.#pause);
    this.#pause = null;
    while (this.#inFlight > 0) await new Promise<void>((done) => this.#onIdle.push(done));
    await this.#writer.stop();
    await this.#hosts.stop();
    await this.#delayed.stop();
  }

  /** Holds the jobs of an entry back until `release`. */
  hold(index: number): void {
    this.#held.add(index);
  }

  /**
   * Releases the jobs of held entries.
   *
   * @param acknowledged false if the append failed: the rows may be on disk or not, so the queue reads the disk again
   */
  release(jobs: readonly Job[], acknowledged: boolean): void {
    for (const { index } of jobs) this.#held.delete(index);
    if (acknowledged) for (const job of jobs) this.#put(job);
    else this.wake();
  }

  /** Reads all rows again, as after a start. */
  wake(): void {
    if (!this.#running) return;
    this.#hosts.wake();
    this.#delayed.wake();
    this.#schedule();
  }

  /** Takes a job whose ready row is on disk. */
  #put(job: Job): void {
    if (!this.#running || this.#busy.has(nameOf(job))) return;
    this.#hosts.put(job);
    this.#schedule();
  }

  #schedule(): void {
    if (!this.#running || this.#pause !== null) return;
    this.#turn ??= setImmediate(() => {
      this.#turn = null;
      this.#takeTurn();
    });
  }

  #takeTurn(): void {
    this.#hosts.readAhead();
    const { for_all, pace } = this.#options;
    for (let started = 0; started < STARTS_PER_TURN;) {
      if (this.#inFlight >= for_all || this.#writer.waiting >= MAX_UNWRITTEN) return;
      const wait_ms = pace.wait();
      if (wait_ms > 0) {
        this.#rest(wait_ms);
        return;
      }
      const host = this.#hosts.next();
      if (host === undefined) {
        // The loaded jobs of a host may all have been in progress. Nothing else would read its next page then.
        this.#hosts.readAhead();
        return;
      }
      const job = host.take();
      if (job !== undefined && this.#tryStart(host, job)) {
        pace.started();
        started += 1;
      }
      this.#hosts.update(host);
    }
    this.#schedule();
  }

  /** Takes the next turn after a time. */
  #rest(wait_ms: number): void {
    this.#pause = setTimeout(() => {
      this.#pause = null;
      this.#schedule();
    }, wait_ms);
    this.#pause.unref();
  }

  /** Starts a job. If another job of its lane is in flight, the job waits for it and false is returned. */
  #tryStart(host: HostQueue, job: Job): boolean {
    const name = nameOf(job);
    if (this.#busy.has(name)) return false;
    const lane = lanePrefix(job);
    if (lane !== null) {
      const waiting = this.#lanes.get(lane);
      if (waiting !== undefined) {
        waiting.push(job);
        return false;
      }
      this.#lanes.set(lane, []);
    }
    this.#busy.add(name);
    host.inFlight += 1;
    this.#inFlight += 1;
    void this.#run(host, job, lane);
    return true;
  }

  async #run(host: HostQueue, job: Job, lane: string | null): Promise<void> {
    const name = nameOf(job);
    const result = await this.#attempt(job, lane).catch((error: unknown): AttemptResult => {
      this.#trouble(error);
      return { rows: [] };
    });
    const written = this.#writer.write(result.rows);
    host.inFlight -= 1;
    this.#inFlight -= 1;
    this.#hosts.update(host);
    if (this.#inFlight === 0) for (const idle of this.#onIdle.splice(0)) idle();
    this.#schedule();
    await written;
    this.#busy.delete(name);
    this.#hosts.finished(name);
    const waiting = lane === null ? [] : (this.#lanes.get(lane) ?? []);
    if (lane !== null) this.#lanes.delete(lane);
    if (result.next !== undefined) this.#put(result.next);
    for (const one of waiting) this.#put(one);
    if (result.due_ms !== undefined) this.#delayed.until(result.due_ms);
  }

  async #attempt(job: Job, lane: string | null): Promise<AttemptResult> {
    if (lane !== null) {
      const [head] = await this.#log.attachedRows(lane, { limit: 1 });
      // Not the first of its lane. An earlier job makes it ready when it ends, or it was delivered before.
      const first = head !== undefined && laneJob(head).index === job.index;
      if (!first) return { rows: [noReadyRow(job)] };
    }
    const { attempt, now, chance, onEnd, onTrouble } = this.#options;
    const outcome = await attempt(this.#log, job).catch((error: unknown): Outcome => {
      onTrouble(error);
      return { end: 'failed', reason: 'failed', retry_after_ms: 0 };
    });
    // The stop may have aborted this attempt, so its failure does not count.
    if (!this.#running && outcome.end === 'failed') return { rows: [] };
    const attempts = job.attempts + 1;
    if (outcome.end === 'failed') {
      const wait = waitAfter(attempts, chance(), outcome.retry_after_ms);
      if (wait !== null) {
        onEnd(this.#log, job, outcome);
        const due_ms = now() + wait;
        return { rows: laterRows({ ...job, attempts }, due_ms), due_ms };
      }
    }
    const final = outcome.end === 'failed' ? { ...outcome, end: 'dead' as const } : outcome;
    onEnd(this.#log, job, final);
    const next = lane === null ? undefined : await this.#nextOf(job, lane);
    const rows = doneRows(job);
    if (final.end === 'dead') {
      const dead = { ...job, attempts, died_at_ms: now(), reason: final.reason };
      rows.push(...deadRows(dead, tenantRef(this.#log, job.index)));
    }
    if (next !== undefined) rows.push(readyRow(next));
    return { rows, next };
  }

  /** The next job of a lane. It keeps its key, so writing its ready row again changes nothing if it still exists. */
  async #nextOf({ index }: Job, lane: string): Promise<Job | undefined> {
    const waiting = (await this.#log.attachedRows(lane, { limit: 2 })).map(laneJob);
    return waiting.find((job) => job.index !== index);
  }

  /** Reports a failure of the database, and reads all rows again later. */
  #trouble(error: unknown): void {
    this.#options.onTrouble(error);
    setTimeout(() => this.wake(), TROUBLE_MS).unref();
  }
}

/** The clock and the callbacks of delayed jobs. */
interface DelayedOptions {
  readonly now: () => number;
  /** A job's ready row is on disk. */
  readonly onReady: (job: Job) => void;
  readonly onTrouble: (error: unknown) => void;
}

/** Makes jobs that failed ready again when they are due. */
class DelayedJobs {
  readonly #log: Log;
  readonly #writer: RowWriter;
  readonly #options: DelayedOptions;
  /** When the first job is due: 0 means that the rows must be read, Infinity that there are none. */
  #next = Infinity;
  #moving: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #running = false;

  constructor(log: Log, writer: RowWriter, options: DelayedOptions) {
    this.#log = log;
    this.#writer = writer;
    this.#options = options;
  }

  /** Reads all delayed rows, as after a start. */
  wake(): void {
    this.#running = true;
    this.until(0);
    this.#check();
  }

  async stop(): Promise<void> {
    this.#running = false;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#moving;
  }

  /** Notes that a job was delayed until `due_ms`. */
  until(due_ms: number): void {
    this.#next = Math.min(this.#next, due_ms);
    this.#sleep();
  }

  #check(): void {
    if (this.#running && this.#next <= this.#options.now()) {
      this.#moving ??= this.#moveDue().finally(() => {
        this.#moving = null;
        this.#sleep();
      });
    }
  }

  async #moveDue(): Promise<void> {
    this.#next = Infinity;
    try {
      while (this.#running) {
        const jobs = (await this.#log.attachedRows(LATER, { limit: DELAYED_PAGE })).map(laterJob);
        const now = this.#options.now();
        const due = jobs.filter(([, due_ms]) => due_ms <= now);
        const rest = jobs[due.length];
        if (rest !== undefined) this.#next = Math.min(this.#next, rest[1]);
        if (due.length === 0) return;
        const moved = due.flatMap(([job, due_ms]) => readyAgainRows(job, due_ms));
        if (!(await this.#writer.write(moved))) return;
        for (const [job] of due) this.#options.onReady(job);
        if (jobs.length < DELAYED_PAGE) return;
      }
    } catch (error) {
      this.#options.onTrouble(error);
    }
  }

  #sleep(): void {
    if (this.#timer !== null || !this.#running || this.#next === Infinity) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#check();
      this.#sleep();
    }, CLOCK_CHECK_MS);
    this.#timer.unref();
  }
}

interface Unwritten {
  readonly rows: readonly AttachedRow[];
  readonly done: (written: boolean) => void;
}

/**
 * Writes rows of one log in the order of the calls. Rows of a few milliseconds share one batch. Batches are not synced,
 * so no request waits for them; if the machine loses power before they reach the disk, messages are sent again.
 */
class RowWriter {
  readonly #log: Log;
  readonly #onTrouble: (error: unknown) => void;
  #unwritten: Unwritten[] = [];
  #writing: Promise<void> | null = null;
  #stopping = false;

  constructor(log: Log, onTrouble: (error: unknown) => void) {
    this.#log = log;
    this.#onTrouble = onTrouble;
  }

  /** Number of calls whose rows are not written yet. */
  get waiting(): number {
    return this.#unwritten.length;
  }

  start(): void {
    this.#stopping = false;
  }

  /** Resolves to true when the rows are written, and to false if writing them failed during a stop. */
  write(rows: readonly AttachedRow[]): Promise<boolean> {
    return new Promise((done) => {
      this.#unwritten.push({ rows, done });
      this.#writing ??= this.#writeAll().finally(() => {
        this.#writing = null;
      });
    });
  }

  /** Tries once to write what is left. If that fails, these messages are sent again after a restart. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#unwritten.length > 0) {
      if (!this.#stopping) await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
      const batch = this.#unwritten;
      this.#unwritten = [];
      try {
        const rows = batch.flatMap((one) => one.rows);
        if (rows.length > 0) await this.#log.putAttached(rows, { sync: false });
      } catch (error) {
        this.#onTrouble(error);
        if (this.#stopping) {
          for (const { done } of [...batch, ...this.#unwritten]) done(false);
          this.#unwritten = [];
          return;
        }
        this.#unwritten = [...batch, ...this.#unwritten];
        await new Promise((resolve) => setTimeout(resolve, TROUBLE_MS));
        continue;
      }
      for (const { done } of batch) done(true);
    }
  }
}
