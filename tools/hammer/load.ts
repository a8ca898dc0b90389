// Writers and readers on one service: the writers append at a rate, the readers hold the log to what the
// writers received.

import { createHistogram } from 'node:perf_hooks';
import type { RecordableHistogram } from 'node:perf_hooks';
import { expect, toldOf } from './auditor.ts';
import type { Auditor, Told } from './auditor.ts';
import { isWrongAnswer, WrongAnswer } from './client.ts';
import type { Client } from './client.ts';

/** The path that is written to: a classification is the main job. */
export const WRITE_PATH = '/api/v1/classify';

/** What a hammer does, and for how long. */
export interface LoadOptions {
  /** Appends a second over all writers; 0 for as many as the service takes. */
  readonly rate: number;
  readonly writers: number;
  readonly readers: number;
  readonly seconds: number;
  /** In every idempotency key, so that two hammers do not meet. */
  readonly name: string;
}

/** Everything that was counted; latencies in microseconds. */
export interface Counted {
  readonly appends: number;
  readonly replays: number;
  readonly receipts: number;
  readonly checkpoints: number;
  /** Answers 429 and 503: the service may ask to wait. */
  readonly deferred: number;
  readonly seconds: number;
  readonly write: RecordableHistogram;
  readonly read: RecordableHistogram;
  readonly wrong: readonly string[];
}

/** Told answers that readers pick from; older ones make room for newer. */
const REMEMBERED = 50_000;
/** Every so many writes, one is asked again by its idempotency key. */
const REPLAY_EVERY = 50;
const MAX_WRONG = 10;

/** A message for the classifier, another one each time. */
export const messageOf = (n: number): string =>
  n % 5 === 0
    ? `We should not hire candidate ${String(n)}, she might get pregnant`
    : `Schedule interview ${String(n)} for Monday, please`;

/** Runs writers and readers side by side; ends early after ten wrong answers. */
export async function load(
  client: Client,
  auditor: Auditor,
  options: LoadOptions,
  progress: (counted: { appends: number; wrong: number }) => void,
): Promise<Counted> {
  const write = createHistogram();
  const read = createHistogram();
  const told: Told[] = [];
  const wrong: string[] = [];
  const count = { appends: 0, replays: 0, receipts: 0, deferred: 0 };
  const start = performance.now();
  const end = start + options.seconds * 1000;
  let next = 0;
  const going = (): boolean => performance.now() < end && wrong.length < MAX_WRONG;

  const guarded = async (work: () => Promise<void>): Promise<void> => {
    while (going()) {
      try {
        await work();
      } catch (error) {
        if (!isWrongAnswer(error)) throw error;
        wrong.push(error.message);
      }
    }
  };

  const writer = async (): Promise<void> => {
    const n = next;
    next += 1;
    if (options.rate > 0) await until(start + (n * 1000) / options.rate);
    if (!going()) return;
    const body = JSON.stringify({ message: messageOf(n), domain: 'hiring' });
    const idempotency_key = `${options.name}-${String(n)}`;
    const from = performance.now();
    const answer = await client.post(WRITE_PATH, body, idempotency_key);
    if (answer.status === 429 || answer.status === 503) {
      count.deferred += 1;
      await until(performance.now() + Math.max(0.1, answer.retry_after_s) * 1000);
      return;
    }
    record(write, from);
    count.appends += 1;
    const given = toldOf(idempotency_key, body, expect(answer, 200, WRITE_PATH));
    if (answer.replayed) throw new WrongAnswer(`${idempotency_key} was never used before`);
    told[n % REMEMBERED] = given;
    if (n % REPLAY_EVERY === 0) {
      await auditor.checkReplay(WRITE_PATH, given);
      count.replays += 1;
    }
    if (n % 500 === 0) progress({ appends: count.appends, wrong: wrong.length });
  };

  const reader = async (): Promise<void> => {
    const picked = told[Math.floor(Math.random() * told.length)];
    if (picked === undefined) {
      await until(performance.now() + 50);
      return;
    }
    const from = performance.now();
    await auditor.checkReceipt(picked);
    record(read, from);
    count.receipts += 1;
  };

  const watcher = async (): Promise<void> => {
    await auditor.look();
    await until(performance.now() + 200);
  };

  await Promise.all([
    ...Array.from({ length: options.writers }, () => guarded(writer)),
    ...Array.from({ length: options.readers }, () => guarded(reader)),
    guarded(watcher),
  ]);
  const seconds = (performance.now() - start) / 1000;
  return { ...count, checkpoints: auditor.checkpoints, seconds, write, read, wrong };
}

const record = (histogram: RecordableHistogram, from: number): void => {
  histogram.record(Math.max(1, Math.round((performance.now() - from) * 1000)));
};

const until = (when: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.max(0, when - performance.now())));
