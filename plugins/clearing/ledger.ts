// The rows of clearing: the weekly nets, acts and credits of all tenants, projected act by act, and the state that is
// carried into the successor of a closed log. gateway/API.md §10.3.
//
// Credits are drawn at the sequence point, so that concurrent requests cannot overdraw them. A successor gets the
// credits of each tenant and the orders that were credited, so that no order is credited twice. Weeks, slots and acts
// are not carried, because a week (slots.ts) and a month (invoice.ts) are computed over all logs.

import { Type } from 'typebox';
import { actOf, add, feeCounted, monthOf } from '../clear/index.ts';
import type { Digits } from '../clear/index.ts';
import { carriedKind, carriedType, eachRow, Hex32 } from '../contract/index.ts';
import type {
  Carry,
  Json,
  JsonObject,
  LogView,
  RowReader,
  RowWriter,
  Sequenced,
  Watch,
} from '../contract/index.ts';
import { netOf, netWithAct } from './net.ts';
import { weekOf } from '../contract/index.ts';

/** Prefix of the rows of a week's nets; the tenant_ref follows. */
export const netRows = (week: string): string => `clearing/net/${week}/`;
/** Prefix of the rows of a tenant's acts of a month; the index follows, in 16 digits. */
export const actRows = (month: string, tenant_ref: string): string =>
  `clearing/act/${month}/${tenant_ref}/`;
/** Digits of an index in the key of a row, so that rows sort in the order of the log. */
const INDEX_DIGITS = 16;
/** The last part of an act's key. */
export const indexText = (index: number): string => String(index).padStart(INDEX_DIGITS, '0');
/** The amounts of an act that depend on its place in the log: the part of its toll that credits paid, and its fees. */
export type ActRow = readonly [credits_micro_usd: Digits, fee_micro_usd: Digits];
/** Row of a tenant's credits. */
export const creditRow = (tenant_ref: string): string => `clearing/credit/${tenant_ref}`;
/** Row that marks an order as credited. */
export const orderRow = (order_sha256: string): string => `clearing/order/${order_sha256}`;
/** Row of a tenant's invoice of a month. */
export const invoiceRow = (month: string, tenant_ref: string): string =>
  `clearing/invoice/${month}/${tenant_ref}`;
/** Row of the first week that has an act or a grant. */
export const FIRST = 'clearing/first';
/** Row of the slot that was closed last. */
export const LAST = 'clearing/last';
/** Prefix of the rows of slots; the week follows. */
export const SLOTS = 'clearing/slot/';

/** Removes the plugin's prefix from the key of a row, because LogView reads rows by keys relative to the plugin. */
export const own = (key: string): string => key.slice('clearing/'.length);

/** Prepaid credits of a tenant, which pay the tolls of governed acts. */
interface Credit {
  readonly granted_micro_usd: Digits;
  readonly drawn_micro_usd: Digits;
}

/** Row of a closed slot. */
export interface SlotRow {
  readonly week: string;
  readonly index: number;
  /** Size of the checkpoint that the slot names. */
  readonly size: number;
}

/** Row of the newest commitment to an invoice. */
export interface InvoiceRow extends JsonObject {
  readonly index: number;
  readonly document_sha256: string;
}

/** Projects the governed acts of all tenants, after the meter has projected them. */
export const ledger: Watch = { project };

function project(entry: Sequenced, rows: RowWriter): void {
  const act = actOf(entry);
  if (act === null) return;
  const tenant_ref = entry.statement['tenant_ref'] as string;
  const week = weekOf(entry.issued_at_ms);
  const key = netRows(week) + tenant_ref;
  const row = rows.get(key);
  if (row === undefined) begin(rows, week);
  const credits = draw(rows, tenant_ref, act.toll_micro_usd);
  const fee = feeCounted(rows, entry, act);
  rows.put(
    key,
    netWithAct(netOf(row), act, [String(credits), String(fee)]) as unknown as JsonObject,
  );
  const month = monthOf(entry.issued_at_ms);
  rows.put(actRows(month, tenant_ref) + indexText(entry.index), [String(credits), String(fee)]);
}

/** Records the first week, with which the slots begin. */
export function begin(rows: RowWriter, week: string): void {
  if (rows.get(FIRST) === undefined) rows.put(FIRST, week);
}

/** A tenant's credits; null without a grant. */
export const creditOf = (rows: RowReader, tenant_ref: string): Credit | null =>
  shownCredit(rows.get(creditRow(tenant_ref)));

/** Reads credits from their row. */
export const shownCredit = (row: Json | undefined): Credit | null =>
  row === undefined ? null : (row as unknown as Credit);

/** The remaining credits. */
export const leftOf = ({ granted_micro_usd, drawn_micro_usd }: Credit): bigint =>
  BigInt(granted_micro_usd) - BigInt(drawn_micro_usd);

/** Pays a toll from the credits as far as they suffice. Returns the amount paid. */
function draw(rows: RowWriter, tenant_ref: string, toll_micro_usd: number): bigint {
  const credit = creditOf(rows, tenant_ref);
  if (credit === null || toll_micro_usd <= 0) return 0n;
  const left = leftOf(credit);
  const toll = BigInt(toll_micro_usd);
  const drawn = toll < left ? toll : left;
  if (drawn === 0n) return 0n;
  rows.put(creditRow(tenant_ref), {
    ...credit,
    drawn_micro_usd: add(credit.drawn_micro_usd, drawn),
  } satisfies JsonObject);
  return drawn;
}

const DigitsText = Type.String({ pattern: '^(0|[1-9][0-9]{0,30})$' });

const CreditMembers = Type.Object(
  { granted_micro_usd: DigitsText, drawn_micro_usd: DigitsText },
  { additionalProperties: false },
);
const OrderMembers = Type.Object({ order_sha256: Hex32 }, { additionalProperties: false });

/** `clearing.carried.v1`. */
export const carried = carriedType('clearing', {
  credit: carriedKind(CreditMembers, ({ value, tenant_ref }, rows) => {
    rows.put(creditRow(tenant_ref), { ...value });
  }),
  order: carriedKind(OrderMembers, ({ value, rests_on }, rows) => {
    // The index belongs to an earlier log. Only the presence of the row matters.
    rows.put(orderRow(value.order_sha256), rests_on.index);
  }),
});

/** The `carry` hook of the plugin. */
export async function* carry(closed: LogView): AsyncGenerator<Carry> {
  const credits = own(creditRow(''));
  for await (const [row, credit] of eachRow(closed, credits)) {
    const tenant_ref = row.slice(credits.length);
    yield { what: 'credit', row, tenant_ref, value: credit as JsonObject };
  }
  const orders = own(orderRow(''));
  for await (const [row] of eachRow(closed, orders)) {
    yield { what: 'order', row, value: { order_sha256: row.slice(orders.length) } };
  }
}
