// Carries the meter into the successor of a closed log: every ceiling, and the sums of the month in which the log
// ended, so that ceilings and tiers continue within that month. Earlier months are read from the closed log, and the
// sums over all tenants are added over the logs (routes.ts).

import { Type } from 'typebox';
import {
  carriedKind,
  carriedType,
  eachRow,
  endedMs,
  Identifier,
  SafeCount,
} from '../contract/index.ts';
import type { Carry, JsonObject, LogView } from '../contract/index.ts';
import { carriedRow, ceilingRow, Limit, monthRow, own } from './entries.ts';
import { MONTH, monthOf } from './usage.ts';

const Digits = Type.String({ pattern: '^-?(0|[1-9][0-9]{0,30})$' });

/** Tuples are written by hand, because TypeBox emits those of JSON Schema draft 7 and the log uses 2020-12. */
const tuple = (...items: readonly JsonObject[]) =>
  Type.Unsafe<readonly unknown[]>({
    type: 'array',
    prefixItems: items,
    items: false,
    minItems: items.length,
    maxItems: items.length,
  });

const MonthMembers = Type.Object(
  {
    month: Type.String({ pattern: MONTH }),
    acts: SafeCount,
    tolls_micro_usd: Digits,
    tolls: Type.Array(tuple({ ...Identifier }, { ...SafeCount }, { ...Digits }), {
      description: 'Toll, acts and micro-USD of each.',
    }),
    cleared_micro_usd: Digits,
    fees_micro_usd: Digits,
    tiers: Type.Record(
      Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9:._-]{0,63}$' }),
      tuple({ ...SafeCount }, { ...Digits }, { ...Digits }),
      { description: 'Acts, exposure and fees of each tier.' },
    ),
  },
  { additionalProperties: false },
);

const CeilingMembers = Type.Object(
  { acts: Limit, micro_usd: Limit },
  { additionalProperties: false },
);

/** `clear.carried.v1`. */
export const carried = carriedType('clear', {
  month: carriedKind(MonthMembers, ({ value, tenant_ref }, rows) => {
    const { month, ...usage } = value;
    rows.put(monthRow(month, tenant_ref), usage as unknown as JsonObject);
    rows.put(carriedRow(month, tenant_ref), true);
  }),
  ceiling: carriedKind(CeilingMembers, ({ value, tenant_ref }, rows) => {
    rows.put(ceilingRow(tenant_ref), { ...value });
  }),
});

/** The `carry` hook of the plugin. */
export async function* carry(closed: LogView): AsyncGenerator<Carry> {
  const month = monthOf(endedMs(closed));
  for (const [what, prefix] of [
    ['ceiling', own(ceilingRow(''))],
    ['month', own(monthRow(month, ''))],
  ] as const) {
    for await (const [row, found] of eachRow(closed, prefix)) {
      const tenant_ref = row.slice(prefix.length);
      const value = what === 'month' ? { month, ...(found as JsonObject) } : (found as JsonObject);
      yield { what, row, tenant_ref, value };
    }
  }
}
