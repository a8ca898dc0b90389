// The rules that depend on the clock of the monitor (log/FORMAT.md §7): times of map heads and of checkpoints, and
// whether a checkpoint is cosigned as a policy asks.

import { countQuorum, FORMAT, isLogError, native, openCheckpoint } from '../../log/index.ts';
import { Finding } from './finding.ts';
import type { Policy } from '../../log/index.ts';
import { quorumTime } from '../../log/operate.ts';

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

/** What is wrong with the cosignatures of a checkpoint. */
export interface Unwitnessed {
  readonly problem: 'no_quorum' | 'too_old' | 'bad_cosignature';
  readonly detail: string;
}

/** The policy and how old its quorum may be. */
export interface Freshness {
  readonly policy: Policy;
  readonly max_age_ms: number;
}

/** Null when all is well, and when the policy says nothing of this log. */
export function judgeCosignatures(
  { policy, max_age_ms }: Freshness,
  log: {
    readonly origin: string;
    readonly vkey: string;
    readonly note: string;
    /** A log that has ended has no newer checkpoint. */
    readonly closed: boolean;
  },
  now_ms: number,
): Unwitnessed | null {
  const { origin, vkey, note, closed } = log;
  if (policy.quorum === null) return null;
  if (policy.logs.length > 0 && !policy.logs.some(({ name }) => name === origin)) return null;
  const cosigners = policy.witnesses.map(({ verifier }) => verifier);
  try {
    const { size, cosignatures } = openCheckpoint(native, note, { origin, vkey, cosigners });
    const of = `the checkpoint of ${String(size)} entries`;
    const time_s = quorumTime(policy, cosignatures);
    if (time_s === null || !countQuorum(policy, cosignatures)) {
      const names = cosignatures.map(({ name }) => name).join(', ') || 'no witness of the policy';
      return { problem: 'no_quorum', detail: `${of} is cosigned by ${names}: no quorum` };
    }
    const age = now_ms - time_s * 1000;
    if (closed || age <= max_age_ms) return null;
    const ages = `${String(age)} ms ago, the limit is ${String(max_age_ms)}`;
    return { problem: 'too_old', detail: `the quorum cosigned ${of} ${ages}` };
  } catch (error) {
    if (!isLogError(error)) throw error;
    return { problem: 'bad_cosignature', detail: error.message };
  }
}
