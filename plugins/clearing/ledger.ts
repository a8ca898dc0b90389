// The weeks of all tenants and their credits, added up act by act in the batch of each entry, and what of them is
// carried into the successor of a closed log. gateway/API.md §10.3.
//
// Credits are drawn at the sequence point, so that concurrent requests never draw more than there is. A succession
// carries the credits of each tenant, and the orders that were credited, so that none is credited twice. Weeks and
// slots are not carried: a week is netted over all logs (slots.ts).

import { Type } from 'typebox';
import { actOf, add, feeCounted } from '../clear/index.ts';
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
import { netOf } from './net.ts';
import { weekOf } from './weeks.ts';

/** Prefix of the rows of a week's nets; the tenant_ref follows. */
export const netRows = (week: string): string => `clearing/net/${week}/`;
/** Row of a tenant's credits. */
export const creditRow = (tenant_ref: string): string => `clearing/credit/${tenant_ref}`;
/** Row of a grant that an order is named for. */
export const orderRow = (order_sha256: string): string => `clearing/order/${order_sha256}`;
/** Row of the first week that has anything in it. */
export const FIRST = 'clearing/first';
/** Row of the slot that was closed last. */
export const LAST = 'clearing/last';
/** Prefix of the rows of slots; the week follows. */
export const SLOTS = 'clearing/slot/';

/** Keys of rows begin with the plugin's name; a view wants what is behind it. */
export const own = (key: string): string => key.slice('clearing/'.length);

/** Governed-act credits of a tenant. */
interface Credit {
  readonly granted_micro_usd: Digits;
  readonly drawn_micro_usd: Digits;
}

/** A closed slot, as its row has it. */
export interface SlotRow {
  readonly week: string;
  readonly index: number;
  /** Of the checkpoint that the slot names. */
  readonly size: number;
}

/** Sees every entry of a tenant, after the meter has. */
export const ledger: Watch = { project };

function project(entry: Sequenced, rows: RowWriter): void {
  const act = actOf(entry);
  if (act === null) return;
  const tenant_ref = entry.statement['tenant_ref'] as string;
  const week = weekOf(entry.issued_at_ms);
  const key = netRows(week) + tenant_ref;
  const row = rows.get(key);
  if (row === undefined) begin(rows, week);
  const net = netOf(row);
  rows.put(key, {
    acts: net.acts + 1,
    tolls_micro_usd: add(net.tolls_micro_usd, act.toll_micro_usd),
    credits_micro_usd: add(net.credits_micro_usd, draw(rows, tenant_ref, act.toll_micro_usd)),
    fees_micro_usd: add(net.fees_micro_usd, feeCounted(rows, entry, act)),
    cleared_micro_usd: add(net.cleared_micro_usd, act.cleared_micro_usd),
  });
}

/** Slots begin with the first week that anything happened in. */
export function begin(rows: RowWriter, week: string): void {
  if (rows.get(FIRST) === undefined) rows.put(FIRST, week);
}

/** A tenant's credits; none without a grant. */
export const creditOf = (rows: RowReader, tenant_ref: string): Credit | null =>
  shownCredit(rows.get(creditRow(tenant_ref)));

/** Credits out of their row. */
export const shownCredit = (row: Json | undefined): Credit | null =>
  row === undefined ? null : (row as unknown as Credit);

/** What is left of credits. */
export const leftOf = ({ granted_micro_usd, drawn_micro_usd }: Credit): bigint =>
  BigInt(granted_micro_usd) - BigInt(drawn_micro_usd);

/** Takes as much of a toll out of the credits as they have. */
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
    // Its index is one of an earlier log; that the row is there is what counts.
    rows.put(orderRow(value.order_sha256), rests_on.index);
  }),
});

/** The `carry` of clearing. */
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
