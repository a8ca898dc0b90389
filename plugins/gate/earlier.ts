// What the logs before the newest one have of a tenant's gate, where it was not carried (carry.ts): a log that an
// earlier release opened after another began without it. None of it holds any more, since a decision names the policy
// in force by an entry of its own log: so it is said where it is, and what to do. gateway/API.md §8.1.

import { ApiError, logName, logOfPlace, namedStatement } from '../contract/index.ts';
import type { Caller, JsonObject, Kind, LogView, PluginHost } from '../contract/index.ts';
import { policyInForce } from './policies.ts';
import { holdRow, openHolds } from './rows.ts';
import type { HoldRow } from './rows.ts';
import type { Verdict } from './rules.ts';

type Logs = Pick<PluginHost, 'log' | 'logs'>;

/** The served logs that the newest one follows, newest first. */
const closedLogs = (host: Logs, kind: Kind): readonly LogView[] =>
  host
    .logs(kind)
    .filter(({ number }) => number < host.log(kind).number)
    .toReversed();

/** The closed log whose policy a tenant had last; null where the newest log has one, or none ever had. */
export function logOfEarlierPolicy(host: Logs, { kind, tenant_ref }: Caller): LogView | null {
  const has = (log: LogView): boolean => policyInForce(log, tenant_ref) !== null;
  return has(host.log(kind)) ? null : (closedLogs(host, kind).find(has) ?? null);
}

/** The verdict for an act; a tenant that put its policy in a closed log gets the note that it must be put again. */
export function told(host: Logs, caller: Caller, verdict: Verdict): Verdict {
  const { outcome, reasons } = verdict;
  if (!reasons.includes('no_policy') || logOfEarlierPolicy(host, caller) === null) return verdict;
  return { outcome, reasons: [...reasons, 'policy_in_closed_log'] };
}

/** Names of the closed logs in which acts of a tenant are still held, newest first. */
export async function logsWithHolds(host: Logs, { kind, tenant_ref }: Caller): Promise<string[]> {
  const names: string[] = [];
  for (const log of closedLogs(host, kind)) {
    const [first] = await log.rows(openHolds(tenant_ref), { limit: 1 });
    if (first === undefined) continue;
    const hold_id = first[0].slice(openHolds(tenant_ref).length);
    const isCarried = host
      .logs(kind)
      .some(({ number, row }) => number > log.number && row(holdRow(hold_id)) !== undefined);
    if (!isCarried) names.push(logName(log));
  }
  return names;
}

/** The log of a number; the newest one unless given. */
export function logNumbered(host: Logs, kind: Kind, asked: string | undefined): LogView {
  if (asked === undefined) return host.log(kind);
  const log = host.logs(kind).find(({ number }) => String(number) === asked);
  if (log !== undefined) return log;
  const message = `${kind}/${asked} is not served here`;
  throw new ApiError('parameter_invalid', message, { param: 'log_number' });
}

/** A hold, the log that has its row, and the log that has its decision. */
interface OwnHold {
  readonly log: LogView;
  readonly heldIn: LogView;
  readonly hold: HoldRow;
  /** The statement of the decision that held the act. */
  readonly held: JsonObject;
  /** Name of the log where it is closed and the act is still held: nothing ends such a hold. */
  readonly closed_log: string | null;
}

/**
 * A hold of the caller, in any log of the kind.
 *
 * @throws ApiError `resource_missing`, `tenant_forbidden`
 */
export function ownHold(host: Logs, { kind, tenant_ref }: Caller, hold_id: string): OwnHold {
  const param = 'hold_id';
  for (const log of [host.log(kind), ...closedLogs(host, kind)]) {
    const hold = log.row(holdRow(hold_id)) as unknown as HoldRow | undefined;
    if (hold === undefined) continue;
    if (hold.tenant_ref !== tenant_ref) {
      throw new ApiError('tenant_forbidden', 'the hold belongs to another tenant', { param });
    }
    const heldIn = logOfPlace(host.logs(kind), log, hold);
    if (heldIn === null) {
      const message = `the hold was carried from ${kind}/${String(hold.log_number)}, which is not served here`;
      throw new ApiError('resource_missing', message, { param });
    }
    const held = namedStatement(heldIn, hold.index);
    const stuck = hold.state === 'held' && log.number !== host.log(kind).number;
    return { log, heldIn, hold, held, closed_log: stuck ? logName(log) : null };
  }
  throw new ApiError('resource_missing', 'there is no such hold', { param });
}

/** Refuses what would end a hold of a closed log: `resource_missing`, which names the closed log and what to do. */
export function checkEndable({ log, hold, closed_log }: OwnHold): void {
  if (closed_log === null) return;
  const place = log.receipt(hold.index)?.['permalink'] as string;
  const message =
    `the hold is in ${closed_log}, which is closed, and cannot be ended there (${place}): ` +
    'ask the gate about the act again';
  throw new ApiError('resource_missing', message, { param: 'hold_id' });
}
