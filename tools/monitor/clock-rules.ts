// What is judged against our own clock, only while polling. log/FORMAT.md §7.

import { FORMAT } from '../../log/index.ts';
import { Finding } from './finding.ts';

/** Our clock when a note was read, and how long before we had read one. */
export interface Polled {
  readonly now_ms: number;
  readonly interval_ms: number;
}

/** A map head comes from no future, and a checkpoint is no older than publishing may take. */
export function judgeHead(
  head: { readonly note: string; readonly map_head_ms: number; readonly closed: boolean },
  { now_ms, interval_ms }: Polled,
): void {
  const evidence = { notes: [head.note], entries: [], clock_ms: now_ms };
  const age = now_ms - head.map_head_ms;
  if (age < -FORMAT.skew_ms) {
    const detail = `the map head is ${String(-age)} ms in the future, the limit is ${String(FORMAT.skew_ms)}`;
    throw new Finding('map_head_future', detail, 'observed', evidence);
  }
  // Whether it is idle shows only later: then `judgeDelay` looks back.
  const limit = FORMAT.max_merge_delay_ms + FORMAT.skew_ms + FORMAT.idle_ms + interval_ms;
  if (!head.closed && age > limit) {
    const detail = `the newest checkpoint is ${String(age)} ms old, the limit is ${String(limit)}`;
    throw new Finding('checkpoint_late', detail, 'observed', evidence);
  }
}

/**
 * The first entry behind an earlier checkpoint must not have been older, when that checkpoint was read,
 * than publishing may take: it was kept back.
 */
export function judgeDelay(
  before: { readonly note: string; readonly polled: Polled },
  next: { readonly index: number; readonly issued_at_ms: number; readonly entry: string },
): void {
  const { now_ms, interval_ms } = before.polled;
  const limit = FORMAT.max_merge_delay_ms + FORMAT.skew_ms + interval_ms;
  const waited = now_ms - next.issued_at_ms;
  if (waited <= limit) return;
  const detail = `entry ${String(next.index)} was not published ${String(waited)} ms after its time, the limit is ${String(limit)}`;
  const { index, entry } = next;
  throw new Finding('merge_delay', detail, 'observed', {
    notes: [before.note],
    entries: [{ index, entry }],
    clock_ms: now_ms,
  });
}
