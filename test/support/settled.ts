// Waits for logs to be published completely, for tests that compare two reads of a log without a map head between
// them.

import type { Log } from '../../log/index.ts';

/**
 * Resolves once all entries of these logs are published. After that, a log grows only by an append or a request for a
 * checkpoint.
 */
export async function settled(...logs: readonly Log[]): Promise<void> {
  for (const log of logs) {
    while (log.published().size < log.size()) await log.whenPublished(log.size());
  }
}
