// What the entries of a session evidence, for documents of other plugins: the Article 12 statuses are those of the
// report of that session (gateway/API.md §12.1), and further signals are counted in the same pass.

import type { LogView } from '../contract/index.ts';
import { ARTICLE_12 } from './catalogs.ts';
import type { Status } from './catalogs.ts';
import { checklistOf } from './checklist.ts';
import type { Item } from './checklist.ts';
import { REPORT_SELECTORS } from './documents.ts';
import { readSession } from './session.ts';
import type { Evidence } from './session.ts';

/** What the entries of a session evidence, up to one map head. */
export interface Assessment {
  readonly session_ref: string;
  /** Time of the map head: everything up to it was read. */
  readonly to_ms: number;
  readonly entries: number;
  /** Hex; RFC 6962 root over the entries, oldest first. */
  readonly entries_root: string;
  /** The checklist of the Article 12 report, in its order. */
  readonly items: readonly Item[];
  /** The entries that show one of the signals of a name. */
  evidence(name: string): Evidence;
  /** `met` with such an entry, else `not_evidenced`. */
  status(name: string): Status;
}

/** What `host.use(compliance)` returns. */
export interface ComplianceApi {
  /**
   * Reads a session of a log, up to the newest checkpoint that covers everything acknowledged before the call.
   *
   * @param at_ms the time for which retention is judged
   * @param signals further names, each with the signals that evidence it, as catalogs/compliance/article-12.json
   * writes them: `type:gate.decision.v1`, `outcome:HOLD`, `event:human_verification`, `metadata:model`, `entry`
   * @throws ApiError `log_unavailable` where the log does not publish, `log_busy` where the session grows too fast
   */
  assess(
    log: LogView,
    session_ref: string,
    at_ms: number,
    signals?: ReadonlyMap<string, readonly string[]>,
  ): Promise<Assessment>;
}

/** Names of other plugins; those of the checklist have no such prefix. */
const own = (name: string): string => `signal:${name}`;

export const assess: ComplianceApi['assess'] = async (log, session_ref, at_ms, signals) => {
  const selectors = new Map(REPORT_SELECTORS);
  for (const [name, of] of signals ?? []) selectors.set(own(name), of);
  const { tally, to_ms, entries_root } = await readSession(log, session_ref, selectors);
  const evidence = (name: string): Evidence => tally.evidence(own(name));
  return {
    session_ref,
    to_ms,
    entries: tally.count,
    entries_root,
    items: checklistOf(ARTICLE_12, tally, at_ms),
    evidence,
    status: (name) => (evidence(name).count > 0 ? 'met' : 'not_evidenced'),
  };
};
