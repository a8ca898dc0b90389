// The binds of a tenant's payment at the sequence point: none, the same one, or another one. Here and
// nowhere else it is decided that a payment is bound once. gateway/API.md §7.4.

import { ApiError } from '../contract/index.ts';
import type { Kind, LogView, PluginHost, RowReader } from '../contract/index.ts';
import type { Act, ToldAct } from './act.ts';
import { defaultActionRef } from './action-ref.ts';
import { boundPayment, olderBindRow, pdtrErrors } from './entries.ts';
import type { BoundRow } from './entries.ts';

/** A bind to be judged. */
interface Bind {
  readonly tenant_ref: string;
  readonly payment_hash: string;
  readonly act: Act;
  readonly told: ToldAct;
}

/** An existing bind, and the log that has it: null is the newest, by its rows at the sequence point. */
export interface Standing {
  readonly index: number;
  readonly log: LogView | null;
}

/** Rows of settlement, and the log that they are of; null is the newest. */
interface Books {
  readonly rows: Pick<RowReader, 'get'>;
  readonly log: LogView | null;
}

/**
 * Logs before the newest of the kind, the later first: closed, so that their rows stay as they are. A payment is
 * bound once, and not once more because its log was closed.
 */
export function earlierLogs(
  host: Pick<PluginHost, 'log' | 'logs'>,
  kind: Kind,
): readonly LogView[] {
  const { number } = host.log(kind);
  return host
    .logs(kind)
    .filter((log) => log.number < number)
    .toReversed();
}

/**
 * The bind that this one repeats; null where it is a new one.
 *
 * @throws ApiError `payment_already_bound`
 */
export function standingBind(
  rows: RowReader,
  earlier: readonly LogView[],
  bind: Bind,
): Standing | null {
  const { tenant_ref, payment_hash, act } = bind;
  const found = booksOf(rows, earlier).flatMap((books) => {
    const { newest } = boundPayment(books.rows, tenant_ref, payment_hash);
    return newest === undefined ? [] : [{ ...books, newest }];
  });
  const [last] = found;
  if (last === undefined) return null;
  const { newest } = last;
  const { seq } = act.tuple;
  for (const books of seq < newest.seq ? found : []) {
    const older = books.rows.get(olderBindRow(tenant_ref, payment_hash, seq));
    const same =
      books.newest.seq === seq ? books.newest : (older as unknown as BoundRow | undefined);
    if (same !== undefined && repeats(bind, same)) return { index: same.index, log: books.log };
  }
  if (!newest.terminal && seq > newest.seq) return null;
  if (repeats(bind, newest)) return { index: newest.index, log: last.log };
  const reason = newest.terminal
    ? 'and that bind was terminal'
    : `and seq ${String(seq)} is not over ${String(newest.seq)}`;
  throw new ApiError(
    pdtrErrors.payment_already_bound,
    `the payment is bound to another act, ${reason}`,
    {
      param: 'payment_hash',
    },
  );
}

/** Whether another tenant has bound the payment. */
export function isContested(
  rows: RowReader,
  earlier: readonly LogView[],
  tenant_ref: string,
  payment_hash: string,
): boolean {
  return booksOf(rows, earlier).some((books) => {
    const { payment } = boundPayment(books.rows, tenant_ref, payment_hash);
    return payment !== undefined && (payment.several || payment.tenant_ref !== tenant_ref);
  });
}

function booksOf(rows: RowReader, earlier: readonly LogView[]): readonly Books[] {
  const before = earlier.map((log) => {
    return { log, rows: { get: (row: string) => log.row(row.slice('pdtr/'.length)) } };
  });
  return [{ rows, log: null }, ...before];
}

/** Whether a bind says nothing that the standing one does not: members left to their defaults never conflict. */
function repeats({ act, told }: Bind, row: BoundRow): boolean {
  if (act.claimed !== null && row.claimed !== null && act.claimed !== row.claimed) return false;
  if (act.action_ref === row.action_ref) return true;
  // A claim that cannot be recomputed is equal only to itself.
  if (!act.verified) return act.claimed === row.claimed;
  const { agent_id, action_type, scope, timestamp_ms } = told;
  const members = [agent_id, action_type, scope, timestamp_ms];
  if (act.claimed === null && members.every((member) => member === undefined)) return true;
  if (timestamp_ms !== undefined) return false;
  const then = { ...act.tuple, timestamp_ms: row.timestamp_ms };
  return defaultActionRef(then) === row.action_ref;
}
