// The entry that commits to a conformity pack. gateway/API.md §2.2, §10.9.

import { Type } from 'typebox';
import { asSchema, Hex32, Identifier, Nullable, SafeCount, SessionRef } from '../../contract.ts';
import type { EntryType, RowReader, RowWriter, Sequenced } from '../../contract.ts';
import { count, tenantOf } from '../counts.ts';

/** Identifier of the entry type. */
export const CONFORMITY = 'foundry.conformity.v1';

/** What the entry says; the system's name and version are a commitment. */
const ConformityMembers = Type.Object(
  {
    category_id: Identifier,
    annex_iii_listed: Type.Boolean(),
    pack_sha256: { ...Hex32, description: 'Over the canonical form of the pack.' },
    /** The session that the pack speaks of; the entry is not on its chain. */
    // TypeBox writes tuples as draft 7 does; the log's schemas are of 2020-12.
    subject_key: Type.Optional(
      Type.Unsafe<readonly ['session', string]>({
        type: 'array',
        prefixItems: [Type.Literal('session'), SessionRef],
        items: false,
        minItems: 2,
        maxItems: 2,
      }),
    ),
    events: SafeCount,
    first_index: Nullable(SafeCount),
    last_index: Nullable(SafeCount),
  },
  { additionalProperties: false },
);

const packRow = (tenant_ref: string, pack_sha256: string): string =>
  `foundry/pack/${tenant_ref}/${pack_sha256}`;

/** Index of the entry that commits to this pack of the tenant already; undefined where there is none. */
export function committedAt(
  rows: RowReader,
  tenant_ref: string,
  pack_sha256: string,
): number | undefined {
  return rows.get(packRow(tenant_ref, pack_sha256)) as number | undefined;
}

function project(entry: Sequenced, rows: RowWriter): void {
  const { index, statement } = entry;
  rows.put(packRow(tenantOf(statement), statement['pack_sha256'] as string), index);
  count(entry, rows, { conformity_packs: 1 });
}

/** `foundry.conformity.v1`. */
export const conformityType: EntryType = {
  name: CONFORMITY,
  schema: asSchema(ConformityMembers),
  keys: [],
  project,
};
