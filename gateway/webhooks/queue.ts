// The queue of one log's messages: takes what is ready, host by host in turn, hands it out within bounds, and writes
// what became of it. The disk is what counts: in memory are the jobs under way and a page of each host that has any,
// so a restart goes on where the disk says. Delivered means: its row is gone. A crash in between sends a message
// again. gateway/API.md §11.

import type { AttachedRow, Log } from '../../log/index.ts';
import type { Outcome } from './delivery.ts';
import type { HostQueue } from './host-queue.ts';
import { Hosts } from './hosts.ts';
import {
  deadRow,
  doneRows,
  laneJob,
  lanePrefix,
  laterRows,
  nameOf,
  noReadyRow,
  readyRow,
} from './job.ts';
import type { Job } from './job.ts';
import { PutOff } from './put-off.ts';
import { RowWriter } from './row-writer.ts';
import { waitAfter } from './schedule.ts';

/** How the queue is run. */
export interface QueueOptions {
  /** Messages under way to one host. */
  readonly for_each_host: number;
  /** Messages under way of all. */
  readonly for_all: number;
  readonly now: () => number;
  /** From 0 to 1. */
  readonly chance: () => number;
  readonly attempt: (log: Log, job: Job) => Promise<Outcome>;
  readonly onEnd: (log: Log, job: Job, outcome: Outcome) => void;
  readonly onTrouble: (error: unknown) => void;
}

/** What an attempt leaves: its rows, and what is ready or due once they are written. */
interface End {
  readonly rows: readonly AttachedRow[];
  readonly next?: Job | undefined;
  readonly due_ms?: number;
}

/** How long to leave a disk alone that could not be read. */
const TROUBLE_MS = 2000;
/** Ends of attempts that wait to be written; no more are begun beyond it. */
const MAX_UNWRITTEN = 4096;
/** Messages that are begun before requests have their turn again. */
const AT_ONCE = 4;

/** Delivers the messages of one log. */
export class Queue {
  readonly #log: Log;
  readonly #options: QueueOptions;
  readonly #writer: RowWriter;
  readonly #hosts: Hosts;
  readonly #putOff: PutOff;
  /** Jobs that are under way, or whose end is not on disk yet, by name. */
  readonly #busy = new Set<string>();
  /** Lanes with a job under way, and the jobs that wait for it. */
  readonly #lanes = new Map<string, Job[]>();
  /** Entries that are placed and not acknowledged yet. */
  readonly #held = new Set<number>();
  #inFlight = 0;
  #turn: NodeJS.Immediate | null = null;
  #running = false;
  #idle: (() => void)[] = [];

  constructor(log: Log, options: QueueOptions) {
    const { for_each_host, now, onTrouble } = options;
    this.#log = log;
    this.#options = options;
    this.#writer = new RowWriter(log, onTrouble);
    this.#hosts = new Hosts(log, {
      for_each_host,
      isTaken: (job) => this.#held.has(job.index) || this.#busy.has(nameOf(job)),
      onReady: () => this.#begin(),
      onTrouble: (error) => this.#trouble(error),
    });
    this.#putOff = new PutOff(log, this.#writer, {
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

  /** Begins nothing more, waits for what is under way, writes how it ended. */
  async stop(): Promise<void> {
    this.#running = false;
    if (this.#turn !== null) clearImmediate(this.#turn);
    this.#turn = null;
    while (this.#inFlight > 0) await new Promise<void>((done) => this.#idle.push(done));
    await this.#writer.stop();
    await this.#hosts.stop();
    await this.#putOff.stop();
  }

  /** Leaves the jobs of an entry alone until it is acknowledged. */
  hold(index: number): void {
    this.#held.add(index);
  }

  /** The entries of these jobs are acknowledged; or nobody knows, and the disk says what there is. */
  release(jobs: readonly Job[], acknowledged: boolean): void {
    for (const { index } of jobs) this.#held.delete(index);
    if (acknowledged) for (const job of jobs) this.#put(job);
    else this.wake();
  }

  /** Looks at everything again, as after a start. */
  wake(): void {
    if (!this.#running) return;
    this.#hosts.wake();
    this.#putOff.wake();
    this.#begin();
  }

  /** A job stands on disk and is ready. */
  #put(job: Job): void {
    if (!this.#running || this.#busy.has(nameOf(job))) return;
    this.#hosts.put(job);
    this.#begin();
  }

  #begin(): void {
    if (!this.#running) return;
    this.#turn ??= setImmediate(() => {
      this.#turn = null;
      this.#takeTurn();
    });
  }

  #takeTurn(): void {
    this.#hosts.readAhead();
    for (let begun = 0; begun < AT_ONCE;) {
      if (this.#inFlight >= this.#options.for_all || this.#writer.waiting >= MAX_UNWRITTEN) return;
      const host = this.#hosts.next();
      if (host === undefined) return;
      const job = host.take();
      if (job !== undefined && this.#begins(host, job)) begun += 1;
      this.#hosts.note(host);
    }
    this.#begin();
  }

  /** Begins a job, unless another of its lane is under way: it will be put back then. */
  #begins(host: HostQueue, job: Job): boolean {
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
    host.flying += 1;
    this.#inFlight += 1;
    void this.#fly(host, job, lane);
    return true;
  }

  async #fly(host: HostQueue, job: Job, lane: string | null): Promise<void> {
    const name = nameOf(job);
    const end = await this.#attempt(job, lane).catch((error: unknown): End => {
      this.#trouble(error);
      return { rows: [] };
    });
    const written = this.#writer.write(end.rows);
    host.flying -= 1;
    this.#inFlight -= 1;
    this.#hosts.note(host);
    if (this.#inFlight === 0) for (const idle of this.#idle.splice(0)) idle();
    this.#begin();
    await written;
    this.#busy.delete(name);
    this.#hosts.landed(name);
    const waiting = lane === null ? [] : (this.#lanes.get(lane) ?? []);
    if (lane !== null) this.#lanes.delete(lane);
    if (end.next !== undefined) this.#put(end.next);
    for (const one of waiting) this.#put(one);
    if (end.due_ms !== undefined) this.#putOff.until(end.due_ms);
  }

  async #attempt(job: Job, lane: string | null): Promise<End> {
    if (lane !== null) {
      const [head] = await this.#log.attachedRows(lane, { limit: 1 });
      // Another stands before it and will call it; or it is done already.
      const first = head !== undefined && laneJob(head).index === job.index;
      if (!first) return { rows: [noReadyRow(job)] };
    }
    const { attempt, now, chance, onEnd, onTrouble } = this.#options;
    const outcome = await attempt(this.#log, job).catch((error: unknown): Outcome => {
      onTrouble(error);
      return { end: 'failed', reason: 'failed', retry_after_ms: 0 };
    });
    // Cut off by the stop: it counts for nothing.
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
    const given = outcome.end === 'failed' ? { ...outcome, end: 'dead' as const } : outcome;
    onEnd(this.#log, job, given);
    const next = lane === null ? undefined : await this.#called(job, lane);
    const rows = doneRows(job);
    if (given.end === 'dead') {
      rows.push(deadRow({ ...job, attempts, died_at_ms: now(), reason: given.reason }));
    }
    if (next !== undefined) rows.push(readyRow(next));
    return { rows, next };
  }

  /** The next job of a lane, under the name that it had: where its row still stands it is the same row. */
  async #called({ index }: Job, lane: string): Promise<Job | undefined> {
    const waiting = (await this.#log.attachedRows(lane, { limit: 2 })).map(laneJob);
    return waiting.find((job) => job.index !== index);
  }

  /** The disk did not answer: all of it is looked at again in a while. */
  #trouble(error: unknown): void {
    this.#options.onTrouble(error);
    setTimeout(() => this.wake(), TROUBLE_MS).unref();
  }
}
