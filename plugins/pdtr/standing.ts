// What stands of a tenant's payment at the sequence point: nothing, the same bind, or another one. Here and
// nowhere else it is decided that a payment is bound once. behaviour.md §7.4.

import { ApiError } from '../contract.ts';
import type { RowReader } from '../contract.ts';
import type { Act, ToldAct } from './act.ts';
import { defaultActionRef } from './action-ref.ts';
import { boundPayment, olderBindRow } from './entries.ts';
import type { BoundRow } from './entries.ts';

/** A bind to be judged. */
export interface Bind {
  readonly tenant_ref: string;
  readonly payment_hash: string;
  readonly act: Act;
  readonly told: ToldAct;
}

/**
 * The index of the bind that this one repeats; null where it is a new one.
 *
 * @throws ApiError `payment_already_bound`
 */
export function standingBind(rows: RowReader, bind: Bind): number | null {
  const { tenant_ref, payment_hash, act } = bind;
  const { newest } = boundPayment(rows, tenant_ref, payment_hash);
  if (newest === undefined) return null;
  const { seq } = act.tuple;
  const older = seq < newest.seq ? olderBindRow(tenant_ref, payment_hash, seq) : null;
  const same = older === null ? undefined : (rows.get(older) as unknown as BoundRow | undefined);
  if (same !== undefined && repeats(bind, same)) return same.index;
  if (!newest.terminal && seq > newest.seq) return null;
  if (repeats(bind, newest)) return newest.index;
  const reason = newest.terminal
    ? 'and that bind was terminal'
    : `and seq ${String(seq)} is not over ${String(newest.seq)}`;
  throw new ApiError('payment_already_bound', `the payment is bound to another act, ${reason}`, {
    param: 'payment_hash',
  });
}

/** Whether another tenant has bound the payment. */
export function isContested(rows: RowReader, tenant_ref: string, payment_hash: string): boolean {
  const { payment } = boundPayment(rows, tenant_ref, payment_hash);
  return payment !== undefined && (payment.several || payment.tenant_ref !== tenant_ref);
}

/** Whether a bind says nothing that the standing one does not: members left to their defaults never conflict. */
function repeats({ act, told }: Bind, row: BoundRow): boolean {
  if (act.claimed !== null && row.claimed !== null && act.claimed !== row.claimed) return false;
  if (act.action_ref === row.action_ref) return true;
  // A claim that nobody can recompute is only ever itself.
  if (!act.verified) return act.claimed === row.claimed;
  const { agent_id, action_type, scope, timestamp_ms } = told;
  const members = [agent_id, action_type, scope, timestamp_ms];
  if (act.claimed === null && members.every((member) => member === undefined)) return true;
  if (timestamp_ms !== undefined) return false;
  const then = { ...act.tuple, timestamp_ms: row.timestamp_ms };
  return defaultActionRef(then) === row.action_ref;
}
