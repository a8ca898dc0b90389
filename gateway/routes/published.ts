// Published sizes: parsing one from a query, and waiting for one that covers an entry or closes a window.
// log/FORMAT.md §5.

import { setTimeout as sleep } from 'node:timers/promises';
import { LogError } from '../../log/index.ts';
import type { Log, Published } from '../../log/index.ts';
import { ApiError } from '../../plugins/contract/index.ts';
import { integerOf } from './schemas.ts';

/** How long a request for a proof waits for the checkpoint that it needs. */
const PROOF_WAIT_MS = 10_000;
/**
 * How long a node that follows waits for a checkpoint before it leaves the answer to the leader: longer than the usual
 * interval, so that a busy log is read at this node.
 */
const FOLLOW_MS = 1500;
/** The longest Retry-After, because clients store it in 32 bits of milliseconds. */
const MAX_RETRY_S = 86_400;
/**
 * The shortest interval of map heads that are made because a reader waits for its window to close. Without this limit,
 * anybody could make an idle log grow by requests.
 */
const ASKED_HEAD_MS = 1000;

/** The published size in a parameter, or the newest without one. Throws `parameter_invalid` for any other size. */
export function publishedSize(log: Log, text: string | undefined, param: string): number {
  if (text === undefined) return log.published().size;
  const size = integerOf(text, param);
  if (log.checkpointAt(size) === null) {
    throw new ApiError('parameter_invalid', `${param} is no published size`, { param });
  }
  return size;
}

/** The signed note of a published size. */
export function noteOf(log: Log, size: number): string {
  const newest = log.published();
  const note = newest.size === size ? newest.note : log.checkpointAt(size);
  if (note === null) throw new Error(`no note is kept for the published size ${String(size)}`);
  return note;
}

/**
 * The error by which a read goes to the leader (../cluster/forward.ts), because a node that follows cannot request the
 * checkpoint or the map head that the answer needs.
 */
const leftToLeader = (): LogError =>
  new LogError('not_leader', 'this node follows, and another one publishes');

/**
 * Waits until the newest checkpoint covers this many entries. Throws `log_unavailable` after ten seconds, or earlier
 * `not_leader`.
 */
export async function covering(log: Log, size: number): Promise<Published> {
  const newest = log.published();
  if (newest.size >= size) return newest;
  const within_ms = log.follows ? FOLLOW_MS : PROOF_WAIT_MS;
  try {
    return await log.whenPublished(size, AbortSignal.timeout(within_ms));
  } catch (cause) {
    if (log.follows) throw leftToLeader();
    throw new ApiError('log_unavailable', 'the log is not publishing at the moment', { cause });
  }
}

/**
 * Waits until a map head at or after `to_ms` is published. If that takes longer than `wait_ms`, it throws
 * `window_not_closed` with a Retry-After after which the window is closed, or of one day if that is later. A node that
 * follows throws `not_leader` if a map head must be requested.
 */
export async function windowClosed(
  log: Log,
  to_ms: number,
  clock: { readonly wait_ms: number; now(): number },
): Promise<void> {
  if (log.published().map_head_ms >= to_ms) return;
  const now = clock.now();
  if (log.follows && to_ms - now < Math.max(clock.wait_ms, 1)) throw leftToLeader();
  const signal = AbortSignal.timeout(clock.wait_ms);
  // If the window ends later than this request may wait, it does not wait at all.
  if (to_ms - now < clock.wait_ms) {
    try {
      await closeAt(log, to_ms, clock, signal);
      return;
    } catch (cause) {
      if (!signal.aborted) throw cause;
    }
  } else if (to_ms <= now) {
    // Without waiting, requests the map head, so that the window is closed when the client tries again.
    void closeAt(log, to_ms, clock, AbortSignal.timeout(PROOF_WAIT_MS)).catch(() => undefined);
  }
  const seconds = Math.max(1, Math.ceil((to_ms - clock.now()) / 1000) + 1);
  const seen = new Date(log.published().map_head_ms).toISOString();
  const message = `the window is not closed: to_ms is after the newest map head of the log, of ${seen}`;
  throw new ApiError('window_not_closed', message, {
    param: 'to_ms',
    headers: { 'Retry-After': String(Math.min(seconds, MAX_RETRY_S)) },
  });
}

async function closeAt(
  log: Log,
  to_ms: number,
  clock: { now(): number },
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const { map_head_ms, published_at_ms, size } = log.published();
    if (map_head_ms >= to_ms) return;
    const now = clock.now();
    const early = Math.max(to_ms - now, published_at_ms + ASKED_HEAD_MS - now);
    // Waits for another checkpoint in any case, because the log's clock may be slightly behind.
    if (early > 0) await sleep(early, undefined, { signal });
    await log.whenPublished(Math.max(size, log.published().size) + 1, signal);
  }
}
