// What a request of the foundry answers with: the entry that its group ends with.

import type { AnsweredEntry } from '../contract.ts';

/** The one entry that a group of one, or of its last, has. */
export function lastEntry(entries: readonly AnsweredEntry[]): AnsweredEntry {
  const entry = entries.at(-1);
  if (entry === undefined) throw new Error('a group has an entry');
  return entry;
}
