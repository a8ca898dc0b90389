// The entry type that records an erasure of disclosures, and the row by which it is found. The chain
// `disclosure.subject` proves to anyone whether an entry's disclosures were erased. gateway/API.md §1.2;
// log/FORMAT.md §3.

import type { JsonObject, Log } from '../../log/index.ts';
import { plural, sentenceOf } from '../../plugins/contract/index.ts';
import type { EntryType, Erasure } from '../../plugins/contract/index.ts';

/** The name of the entry type. */
export const ERASURE = 'disclosure.erasure.v1';

/** Prefix of the rows of erasures. The id of the erased entry follows. */
export const ERASED = 'disclosure/erased/';

/** The row of an entry's erasure. */
export const erasureRow = (entry_id: string): string => `${ERASED}${entry_id}`;

/** `disclosure.erasure.v1`: names the entry and the members whose disclosures were erased. */
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
  sentence: sentenceOf<{
    readonly subject_entry_id: string;
    readonly subject_commitments: readonly string[];
  }>(({ subject_entry_id, subject_commitments }) => {
    const values = plural(subject_commitments.length, 'value');
    return `The service erased ${values} that the entry ${subject_entry_id} commits to.`;
  }),
  project({ index, entry_id, issued_at_ms, statement }, rows) {
    const row: JsonObject = { entry_id, index, issued_at_ms };
    rows.put(erasureRow(statement['subject_entry_id'] as string), row);
  },
};

/** Returns the erasure of an entry, searching the newest log first; null if there is none. */
export function erasureOf(logs: readonly Log[], entry_id: string): Erasure | null {
  for (const log of logs.toReversed()) {
    const row = log.row(erasureRow(entry_id));
    if (row !== undefined) return row as unknown as Erasure;
  }
  return null;
}
