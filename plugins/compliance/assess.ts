// Assesses a session for documents of other plugins. The Article 12 statuses equal those of the session's report
// (gateway/API.md §12.1), and further signals are counted in the same pass.

import type { Caller, Kind, LogView, PluginHost } from '../contract/index.ts';
import restraint from '../restraint/index.ts';
import { ARTICLE_12 } from './catalogs.ts';
import type { Status } from './catalogs.ts';
import { checklistOf } from './checklist.ts';
import type { Item } from './checklist.ts';
import { REPORT_SELECTORS } from './documents.ts';
import { readChain } from './session.ts';
import type { Evidence } from './session.ts';

/** The result of reading a session up to one map head. */
export interface Assessment {
  readonly session_ref: string;
  /** Time of the map head: everything up to it was read. */
  readonly to_ms: number;
  readonly entries: number;
  /** Log times of the first and the last entry. */
  readonly first_ms: number | null;
  readonly last_ms: number | null;
  /** Hex; RFC 6962 root over the entries, oldest first. */
  readonly entries_root: string;
  /** The checklist of the Article 12 report, in its order. */
  readonly items: readonly Item[];
  /** The entries that have a signal of this name. */
  evidence(name: string): Evidence;
  /** `met` if there is such an entry, else `not_evidenced`. */
  status(name: string): Status;
}

/** What `host.use(compliance)` returns. */
export interface ComplianceApi {
  /**
   * Reads a session of a log, up to the newest checkpoint that covers everything acknowledged before the call.
   *
   * @param at_ms the time for which retention is judged
   * @param signals further names, each with the signals that evidence it, as catalogs/compliance/article-12.json
   * writes them: `type:gate.decision`, `type:gate.hold_resolution+release`, `outcome:HOLD`, `event:human_verification`,
   * `metadata:model`, `entry`
   * @throws ApiError `log_unavailable` if the log does not publish, `log_busy` if the session grows too fast
   */
  assess(
    log: LogView,
    session_ref: string,
    at_ms: number,
    signals?: ReadonlyMap<string, readonly string[]>,
  ): Promise<Assessment>;
}

/** Prefixes the names of other plugins, so that they differ from those of the checklist. */
const own = (name: string): string => `signal:${name}`;

export const assess: ComplianceApi['assess'] = async (log, session_ref, at_ms, signals) => {
  const selectors = new Map(REPORT_SELECTORS);
  for (const [name, of] of signals ?? []) selectors.set(own(name), of);
  const { tally, to_ms, entries_root } = await readChain(log, ['session', session_ref], selectors);
  const evidence = (name: string): Evidence => tally.evidence(own(name));
  return {
    session_ref,
    to_ms,
    entries: tally.count,
    first_ms: tally.first_ms,
    last_ms: tally.last_ms,
    entries_root,
    items: checklistOf(ARTICLE_12, tally, at_ms),
    evidence,
    status: (name) => (evidence(name).count > 0 ? 'met' : 'not_evidenced'),
  };
};

/** Entry id of the spoliation seal over a session's last or first entry, or null; the plugin requires `restraint`. */
export async function holdOf(
  host: PluginHost,
  kind: Kind,
  { tenant_ref }: Pick<Caller, 'tenant_ref'>,
  { session_ref, first_ms, last_ms }: Pick<Assessment, 'session_ref' | 'first_ms' | 'last_ms'>,
): Promise<string | null> {
  for (const issued_at_ms of new Set([last_ms, first_ms])) {
    if (issued_at_ms === null) continue;
    const statement = { tenant_ref, session_ref, issued_at_ms };
    const hold = await host.use(restraint).holdOver(kind, statement);
    if (hold !== null) return hold.entry_id;
  }
  return null;
}
