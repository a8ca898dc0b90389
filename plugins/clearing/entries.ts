// The entries of clearing: a week's slot with its root, and a window's credits for a tenant. gateway/API.md §10.3.

import { Type } from 'typebox';
import { add } from '../clear/index.ts';
import { asSchema, Hex32, Millis, SafeCount } from '../contract/index.ts';
import type { EntryType, RowWriter, Sequenced } from '../contract/index.ts';
import { begin, creditOf, creditRow, LAST, ledger, orderRow, SLOTS } from './ledger.ts';
import type { SlotRow } from './ledger.ts';
import { WEEK, weekOf } from './weeks.ts';

/** Name of the entry type of a slot. */
export const SLOT = 'clearing.slot.v1';
/** Name of the entry type of a grant. */
export const GRANT = 'clearing.grant.v1';

const Week = Type.String({ pattern: WEEK });
const Digits = Type.String({
  pattern: '^-?(0|[1-9][0-9]{0,30})$',
  description: 'Integer micro-USD: a sum may be more than a JSON number holds exactly.',
});

/** What a slot says beside the common members. */
export const SlotMembers = Type.Object(
  {
    /** Puts all slots on one chain: none is left out between two. */
    cycle: Type.Literal('weekly'),
    week: Week,
    from_ms: Millis,
    to_ms: Millis,
    /** Root of the tree over the tenants' leaves. */
    root: Hex32,
    tenants: { ...SafeCount, description: 'Leaves of the tree.' },
    acts: SafeCount,
    sum_tolls_micro_usd: Digits,
    sum_credits_micro_usd: Digits,
    sum_fees_micro_usd: Digits,
    sum_cleared_micro_usd: Digits,
    sum_net_micro_usd: Digits,
    /** A published checkpoint over all entries of the week. */
    checkpoint_size: SafeCount,
    checkpoint_root: Hex32,
  },
  { additionalProperties: false },
);

const GrantMembers = Type.Object(
  {
    sku: Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}$' }),
    weeks: Type.Integer({ minimum: 1, maximum: 520 }),
    from_week: Week,
    through_week: Week,
    credits_micro_usd: SafeCount,
    /** Of what the operator calls the order; an order grants once. */
    order_sha256: Type.Optional(Hex32),
  },
  { additionalProperties: false },
);

function projectSlot({ statement, index }: Sequenced, rows: RowWriter): void {
  const { week, checkpoint_size } = statement as { week: string; checkpoint_size: number };
  const row = { week, index, size: checkpoint_size } satisfies SlotRow;
  rows.put(SLOTS + week, row);
  rows.put(LAST, row);
}

function projectGrant({ statement, index, issued_at_ms }: Sequenced, rows: RowWriter): void {
  const tenant_ref = statement['tenant_ref'] as string;
  const { order_sha256, credits_micro_usd } = statement;
  begin(rows, weekOf(issued_at_ms));
  const { granted_micro_usd = '0', drawn_micro_usd = '0' } = creditOf(rows, tenant_ref) ?? {};
  rows.put(creditRow(tenant_ref), {
    granted_micro_usd: add(granted_micro_usd, credits_micro_usd as number),
    drawn_micro_usd,
  });
  if (typeof order_sha256 === 'string') rows.put(orderRow(order_sha256), index);
}

/** `clearing.slot.v1`; it watches the acts that slots net. */
export const slotType: EntryType = {
  name: SLOT,
  schema: asSchema(SlotMembers),
  keys: [['clearing.cycle', 'cycle']],
  project: projectSlot,
  watch: ledger,
};

/** `clearing.grant.v1`. */
export const grantType: EntryType = {
  name: GRANT,
  schema: asSchema(GrantMembers),
  keys: [],
  project: projectGrant,
};
