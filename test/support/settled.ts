// Logs at rest: for tests that compare two readings of a log, between which a checkpoint would bring a map head.

import type { Log } from '../../log/index.ts';

/** Resolves once all entries of these logs are published; they grow again only by who appends or asks. */
export async function settled(...logs: readonly Log[]): Promise<void> {
  for (const log of logs) {
    while (log.published().size < log.size()) await log.whenPublished(log.size());
  }
}
