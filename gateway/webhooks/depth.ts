// How many messages wait in the queue of a log, and for how long, for /metrics. Counting reads the rows of the queue
// (job.ts) up to a bound, so that a scrape stays cheap with a long queue.

import { readEntry } from '../../log/index.ts';
import type { Log } from '../../log/index.ts';
import { DEAD, LATER, laterJob, READY, readyJob } from './job.ts';

/** Rows that are counted at most, of each kind. */
const MOST = 10_000;

/** The state of the webhook queue of one log. */
export interface QueueDepth {
  readonly kind: string;
  readonly waiting: number;
  /** Age of the oldest entry that a waiting message is about, in seconds; 0 if none waits. */
  readonly oldest_seconds: number;
  readonly dead: number;
}

/** Counts the messages that wait and those that were given up. */
export async function queueDepth(log: Log, now_ms: number): Promise<QueueDepth> {
  const [ready, later, dead] = await Promise.all(
    [READY, LATER, DEAD].map((prefix) => log.attachedRows(prefix, { limit: MOST })),
  );
  const jobs = [...(ready ?? []).map(readyJob), ...(later ?? []).map((row) => laterJob(row)[0])];
  const oldest = jobs.reduce((least, { index }) => Math.min(least, index), Infinity);
  const text = Number.isFinite(oldest) ? log.entry(oldest) : null;
  const issued_at_ms = text === null ? now_ms : readEntry(text).statement['issued_at_ms'];
  return {
    kind: log.kind,
    waiting: Math.min(jobs.length, MOST),
    oldest_seconds: Math.max(0, now_ms - Number(issued_at_ms)) / 1000,
    dead: dead?.length ?? 0,
  };
}
