// Published sizes as parameters, and waiting for one: for a proof, or for a window to close. log/FORMAT.md §5.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Log, Published } from '../../log/index.ts';
import { ApiError } from '../../plugins/contract/index.ts';
import { integerOf } from './schemas.ts';

/** How long a request for a proof waits for the checkpoint that it needs. */
const PROOF_WAIT_MS = 10_000;
/** Longest Retry-After: clients keep it in 32 bits of milliseconds, and a far window is asked for again. */
const MAX_RETRY_S = 86_400;
/**
 * Map heads that only a reader's window asks for come at most this often: without it anyone could make
 * an idle log grow with every request.
 */
const ASKED_HEAD_MS = 1000;

/** The published size that a parameter names, the newest without one; else `parameter_invalid`. */
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

/** The newest checkpoint once it covers so many entries; `log_unavailable` when none comes in time. */
export async function covering(log: Log, size: number): Promise<Published> {
  const newest = log.published();
  if (newest.size >= size) return newest;
  try {
    return await log.whenPublished(size, AbortSignal.timeout(PROOF_WAIT_MS));
  } catch (cause) {
    throw new ApiError('log_unavailable', 'the log is not publishing at the moment', { cause });
  }
}

/**
 * Resolves when a map head at or after `to_ms` is published. A window that does not close within
 * `wait_ms` is `window_not_closed`, with a Retry-After by which it will have, a day at most.
 */
export async function windowClosed(
  log: Log,
  to_ms: number,
  clock: { readonly wait_ms: number; now(): number },
): Promise<void> {
  if (log.published().map_head_ms >= to_ms) return;
  const now = clock.now();
  const signal = AbortSignal.timeout(clock.wait_ms);
  // Too far ahead: nothing to wait for now.
  if (to_ms - now < clock.wait_ms) {
    try {
      await closeAt(log, to_ms, clock, signal);
      return;
    } catch (cause) {
      if (!signal.aborted) throw cause;
    }
  } else if (to_ms <= now) {
    // Who comes back after Retry-After finds it closed.
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
    // The clock of the log may stand a moment behind: never spin.
    if (early > 0) await sleep(early, undefined, { signal });
    await log.whenPublished(Math.max(size, log.published().size) + 1, signal);
  }
}
