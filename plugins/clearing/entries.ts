// The entry types of clearing: the slot of a week with its Merkle root, the credits of a purchased window, and the
// commitment to a tenant's invoice of a month. gateway/API.md §10.3, §10.10.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import { add, MONTH } from '../clear/index.ts';
import {
  asSchema,
  Hex32,
  Millis,
  plural,
  SafeCount,
  sentenceOf,
  shortName,
  usdOf,
} from '../contract/index.ts';
import type { EntryType, RowWriter, Sequenced } from '../contract/index.ts';
import { begin, creditOf, creditRow, invoiceRow, LAST, ledger, orderRow, SLOTS } from './ledger.ts';
import type { InvoiceRow, SlotRow } from './ledger.ts';
import { WEEK, weekOf } from '../contract/index.ts';

/** Name of the entry type of a slot. */
export const SLOT = 'clearing.slot.v1';
/** Name of the entry type of a grant. */
export const GRANT = 'clearing.grant.v1';
/** Name of the entry type that commits to the invoice of a month. */
export const INVOICE_ENTRY = 'clearing.invoice.v1';

const Week = Type.String({ pattern: WEEK });
const Digits = Type.String({
  pattern: '^-?(0|[1-9][0-9]{0,30})$',
  description: 'Integer micro-USD: a sum may be more than a JSON number holds exactly.',
});

/** Members of a slot. */
export const SlotMembers = Type.Object(
  {
    /** Puts all slots on one chain, which shows that none is missing between two of them. */
    cycle: Type.Literal('weekly'),
    week: Week,
    from_ms: Millis,
    to_ms: Millis,
    /** Root of the Merkle tree over the leaves of the tenants. */
    root: Hex32,
    tenants: { ...SafeCount, description: 'Leaves of the tree.' },
    acts: SafeCount,
    sum_tolls_micro_usd: Digits,
    sum_credits_micro_usd: Digits,
    sum_fees_micro_usd: Digits,
    sum_cleared_micro_usd: Digits,
    sum_net_micro_usd: Digits,
    /** A published checkpoint that covers all entries of the week. */
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
    /** SHA-256 of the operator's identifier of the order. Each order can be credited once. */
    order_sha256: Type.Optional(Hex32),
  },
  { additionalProperties: false },
);

const InvoiceMembers = Type.Object(
  {
    /** Puts all invoices of a tenant on one chain; see `accountOf`. */
    account: Type.String({ pattern: '^[0-9a-f]{32}$', description: 'The tenant_ref in hex.' }),
    month: Type.String({ pattern: MONTH }),
    acts: SafeCount,
    tolls_micro_usd: Digits,
    credits_micro_usd: Digits,
    fees_micro_usd: Digits,
    /** Tolls minus credits plus fees. */
    net_micro_usd: Digits,
    /** SHA-256 of the canonical form of the invoice, without its proofs and its receipt. */
    document_sha256: Hex32,
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

function projectInvoice({ statement, index }: Sequenced, rows: RowWriter): void {
  const { tenant_ref, month, document_sha256 } = statement as Record<string, string>;
  const row = { index, document_sha256: document_sha256 ?? '' } satisfies InvoiceRow;
  rows.put(invoiceRow(month ?? '', tenant_ref ?? ''), row);
}

/** `clearing.slot.v1`. Its watch projects the acts from which slots and invoices are computed. */
export const slotType: EntryType = {
  name: SLOT,
  row_form: 2, // since each act of a month has a row
  schema: asSchema(SlotMembers),
  keys: [['clearing.cycle', 'cycle']],
  sentence: sentenceOf<Static<typeof SlotMembers>>(
    ({ week, acts, tenants, sum_net_micro_usd }) =>
      `The clearing slot of the week ${week} nets ${plural(acts, 'act')} of ${plural(tenants, 'tenant')} to ${usdOf(sum_net_micro_usd)}.`,
  ),
  project: projectSlot,
  watch: ledger,
};

/** `clearing.grant.v1`. */
export const grantType: EntryType = {
  name: GRANT,
  schema: asSchema(GrantMembers),
  keys: [],
  sentence: sentenceOf<Static<typeof GrantMembers>>(
    ({ sku, credits_micro_usd, from_week, through_week }) =>
      `The tenant was granted credits of ${usdOf(credits_micro_usd)} by ${shortName(sku)}, for the weeks ${from_week} to ${through_week}.`,
  ),
  project: projectGrant,
};

/**
 * A tenant_ref in hex, as the account of an invoice. Its base64url form may begin with `-` or `_`, which is not allowed
 * in members of entries (log/FORMAT.md §2.3).
 */
export const accountOf = (tenant_ref: string): string =>
  Buffer.from(tenant_ref, 'base64url').toString('hex');

/** `clearing.invoice.v1`. */
export const invoiceType: EntryType = {
  name: INVOICE_ENTRY,
  schema: asSchema(InvoiceMembers),
  keys: [['clearing.invoice', 'account']],
  sentence: sentenceOf<Static<typeof InvoiceMembers>>(
    ({ month, acts, net_micro_usd }) =>
      `The invoice of the tenant for the month ${month} has ${plural(acts, 'act')} and comes to ${usdOf(net_micro_usd)} net.`,
  ),
  project: projectInvoice,
};
