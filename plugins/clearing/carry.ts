// What of a closed log's clearing goes over into its successor: the credits of each tenant, and the orders that were
// credited, so that none is twice. Weeks and slots stay where they are: a week is netted over all logs (slots.ts).

import { Type } from 'typebox';
import { carriedKind, carriedType, eachRow, Hex32 } from '../contract.ts';
import type { Carry, JsonObject, LogView } from '../contract.ts';
import { creditRow, orderRow, own } from './ledger.ts';

const Digits = Type.String({ pattern: '^(0|[1-9][0-9]{0,30})$' });

const CreditMembers = Type.Object(
  { granted_micro_usd: Digits, drawn_micro_usd: Digits },
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
