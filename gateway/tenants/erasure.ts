// The entry that says that the texts behind another one were destroyed, and where that is read from. The chain
// `disclosure.subject` shows anyone whether it happened. gateway/API.md §1.2; log/FORMAT.md §3.

import type { EntryType, JsonObject, Log } from '../../log/index.ts';
import type { Erasure } from '../../plugins/contract/index.ts';

/** Name of the entry type. */
export const ERASURE = 'disclosure.erasure.v1';

/** What the row of an entry's erasure begins with; the rest is the id of the entry. */
export const ERASED = 'disclosure/erased/';

/** Row of an entry's erasure. */
export const erasureRow = (entry_id: string): string => `${ERASED}${entry_id}`;

/** `disclosure.erasure.v1`: names the entry, and the members whose texts are gone. */
export const erasureType: EntryType = {
  name: ERASURE,
  schema: {
    type: 'object',
    properties: {
      subject_entry_id: {
        type: 'string',
        pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$',
      },
      subject_commitments: {
        type: 'array',
        items: { type: 'string', pattern: '^[a-z][a-z0-9_]{0,63}$' },
      },
    },
    required: ['subject_entry_id', 'subject_commitments'],
    additionalProperties: false,
  },
  keys: [['disclosure.subject', 'subject_entry_id']],
  project({ index, entry_id, issued_at_ms, statement }, rows) {
    const row: JsonObject = { entry_id, index, issued_at_ms };
    rows.put(erasureRow(statement['subject_entry_id'] as string), row);
  },
};

/** The erasure of an entry in any of these logs of a kind, newest first; null where it has none. */
export function erasureOf(logs: readonly Log[], entry_id: string): Erasure | null {
  for (const log of logs.toReversed()) {
    const row = log.row(erasureRow(entry_id));
    if (row !== undefined) return row as unknown as Erasure;
  }
  return null;
}
