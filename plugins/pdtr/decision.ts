// The decision behind a payment: the one that the request names, else the newest of the session, else none, which the
// log then says. Nothing here decides. gateway/API.md §7.5.
//
// The gate writes the row of the newest decision of a session; a settlement reads it at its own sequence point.

import { entryName, indexNamed, statementAt } from '../contract/index.ts';
import type { Caller, Json, LogView, RowReader } from '../contract/index.ts';

/** What the row says. */
export interface SessionDecision {
  readonly entry_id: string;
  /** The type of the entry, `gate.decision.v3`. */
  readonly type: string;
  /** As the decision has it: PERMIT, HOLD, DENY or SILENCE. */
  readonly outcome: string;
  /** Whether it names a surface: then it is the one entry of the attempt there (log/FORMAT.md §3). */
  readonly surface: boolean;
}

/** Row of the gate: its newest decision in a session. */
export const sessionDecisionRow = (session_ref: string): string => `gate/session/${session_ref}`;

/** The newest decision of a session as of the entry before; undefined when it has none. */
export function sessionDecision(
  rows: Pick<RowReader, 'get'>,
  session_ref: string,
): SessionDecision | undefined {
  const row: Json | undefined = rows.get(sessionDecisionRow(session_ref));
  return row as unknown as SessionDecision | undefined;
}

/** What a bind says of the decision behind it. */
export interface Decision {
  readonly source: 'entry_id' | 'session' | 'not_supplied';
  /** An entry of the log that decides something, of the same tenant. */
  readonly linked: boolean;
  /** Entry id where linked; as named where that is an id or a hash; absent where the bind's own group has it. */
  readonly entry_id?: string;
  readonly type?: string;
  readonly outcome?: string;
  /** It names a surface: the attempt has its entry there already. */
  readonly surface: boolean;
}

/** Entries that decide, and the member that says what. */
const DECISIONS: ReadonlyMap<string, string> = new Map([
  ['gate.decision.v1', 'outcome'],
  ['gate.decision.v2', 'outcome'],
  ['gate.decision.v3', 'outcome'],
  ['carrier.decision.v1', 'decision'],
  ['carrier.decision.v2', 'decision'],
  ['carrier.decision.v3', 'decision'],
  ['classify.result.v1', 'classification'],
]);

/** Nobody named a decision. */
export const NO_DECISION: Decision = { source: 'not_supplied', linked: false, surface: false };

/** The decision that a request names by entry id or entry hash. */
export function namedDecision(log: LogView, caller: Caller, named: string): Decision {
  const name = entryName(named);
  const index = name === null ? null : indexNamed(log, name);
  const statement = index === null ? null : statementAt(log, index);
  const type = statement?.['type'];
  const member = typeof type === 'string' ? DECISIONS.get(type) : undefined;
  if (statement === null || member === undefined || statement['tenant_ref'] !== caller.tenant_ref) {
    const shown = name === null ? {} : { entry_id: name };
    return { source: 'entry_id', linked: false, ...shown, surface: false };
  }
  const { entry_id, type: decided } = statement as { entry_id: string; type: string };
  const outcome = statement[member] as string;
  const surface = statement['surface'] !== undefined;
  return { source: 'entry_id', linked: true, entry_id, type: decided, outcome, surface };
}

/** The session's newest decision, or none. */
export function decisionOfSession(newest: SessionDecision | undefined): Decision {
  if (newest === undefined) return NO_DECISION;
  const { entry_id, type, outcome, surface } = newest;
  return { source: 'session', linked: true, entry_id, type, outcome, surface };
}
