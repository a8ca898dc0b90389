// The newest decision of a session: the gate writes the row when it decides, and who settles reads it at its own
// sequence point. gateway/API.md §7.5.

import type { Json, RowReader } from '../contract.ts';

/** What the row says. */
export interface SessionDecision {
  readonly entry_id: string;
  /** The type of the entry, `gate.decision.v1`. */
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
