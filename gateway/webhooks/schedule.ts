// When a message is tried again, and when it is given up. gateway/API.md §11; Standard Webhooks, "Retry schedule".

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Waits before each attempt, the first one first. */
export const DELAYS_MS: readonly number[] = [
  ...[0, 5 * SECOND, 5 * MINUTE, 30 * MINUTE],
  ...[2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR],
];

/** At most this share is added to a wait, so that what failed together does not come back together. */
const JITTER = 0.2;

/** Longest that a receiver may ask us to wait. */
const MAX_RETRY_AFTER_MS = 24 * HOUR;

/**
 * How long to wait after so many attempts; null when that was the last one.
 *
 * @param chance from 0 to 1
 * @param retry_after_ms what the receiver asked for, if it did
 */
export function waitAfter(attempts: number, chance: number, retry_after_ms = 0): number | null {
  const delay = DELAYS_MS[attempts];
  if (delay === undefined) return null;
  const jittered = Math.round(delay * (1 + JITTER * chance));
  return Math.max(jittered, Math.min(retry_after_ms, MAX_RETRY_AFTER_MS));
}

/** A Retry-After in milliseconds: seconds, or an HTTP date (RFC 9110 §10.2.3); 0 for anything else. */
export function retryAfterMs(header: string | undefined, now_ms: number): number {
  if (header === undefined) return 0;
  if (/^\d{1,9}$/.test(header)) return Number(header) * SECOND;
  const date = Date.parse(header);
  return Number.isNaN(date) ? 0 : Math.max(0, date - now_ms);
}
