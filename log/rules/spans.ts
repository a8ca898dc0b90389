// When manifests are in force, and whether they declare a surface over a window. log/FORMAT.md §6.6.
// Browser-safe; one rule for those who make documents and those who check them.

import type { JsonObject } from '../encoding/json-types.ts';

/** One manifest, as far as one surface is concerned; milliseconds of log time, both ends included. */
export interface Span {
  /** Of its entry; the manifest before it ends here. */
  readonly issued_at_ms: number;
  readonly lists: boolean;
  readonly from_ms: number;
  /** Infinity where the manifest names no end. */
  readonly until_ms: number;
  /** null where the manifest promises no heartbeats. */
  readonly interval_ms: number | null;
}

/** The span of a manifest entry that is well formed (checkManifest). */
export function spanOf(manifest: JsonObject, surface: string): Span {
  const issued_at_ms = manifest.issued_at_ms as number;
  return {
    issued_at_ms,
    lists: (manifest.surfaces as readonly string[]).includes(surface),
    from_ms: Math.max(manifest.valid_from_ms as number, issued_at_ms),
    until_ms: (manifest.valid_until_ms as number | undefined) ?? Infinity,
    interval_ms: (manifest.heartbeat_interval_ms as number | undefined) ?? null,
  };
}

/**
 * Each manifest lists the surface, and each millisecond of the window lies in the span of one.
 * The spans are consecutive manifests of one entity, oldest first.
 */
export function declares(
  spans: readonly Span[],
  window: { readonly from_ms: number; readonly to_ms: number },
): boolean {
  let uncovered = window.from_ms;
  for (const [i, span] of spans.entries()) {
    const until = Math.min(span.until_ms, spans[i + 1]?.issued_at_ms ?? Infinity);
    // A span lies between its manifest and the next one, so they are met in the order of time.
    if (span.from_ms <= uncovered && until >= uncovered) uncovered = until + 1;
  }
  return uncovered > window.to_ms && spans.every(({ lists }) => lists);
}

/** The smallest interval that a manifest promises; null when none does. */
export function smallestInterval(spans: readonly Span[]): number | null {
  const intervals = spans.flatMap(({ interval_ms }) => interval_ms ?? []);
  return intervals.length === 0 ? null : Math.min(...intervals);
}
