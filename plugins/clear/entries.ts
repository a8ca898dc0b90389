// The entry by which the operator limits a tenant's month; its type watches all others. gateway/API.md §10.2.

import { Type } from 'typebox';
import type { EntryType, RowWriter, Sequenced } from '../contract.ts';
import { asSchema } from '../contract.ts';
import { ceilingRow, meter } from './meter.ts';

/** Name of the entry type. */
export const CEILING = 'clear.ceiling.v1';

/** A limit of a ceiling; null is none. */
export const Limit = Type.Union([
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  Type.Null(),
]);

const CeilingMembers = Type.Object(
  {
    /** Governed acts of a month. */
    acts: Limit,
    /** Tolls and basis points of a month. */
    micro_usd: Limit,
  },
  { additionalProperties: false },
);

function project({ statement }: Sequenced, rows: RowWriter): void {
  const { acts = null, micro_usd = null } = statement;
  const key = ceilingRow(statement['tenant_ref'] as string);
  if (acts === null && micro_usd === null) rows.del(key);
  else rows.put(key, { acts, micro_usd });
}

/** `clear.ceiling.v1`: both null lifts it. */
export const ceilingType: EntryType = {
  name: CEILING,
  schema: asSchema(CeilingMembers),
  keys: [],
  project,
  watch: meter,
};
