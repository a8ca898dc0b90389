// Retention holds: whether a seal forbids to destroy what belongs to an entry. gateway/API.md §1.2, §7.9.

import type { JsonObject, Kind, LogView, PluginHost } from '../contract.ts';
import { holdsOf, releasedHold } from './entries.ts';
import type { Hold } from './entries.ts';

const PAGE = 1000;

/**
 * The hold that covers an entry of this statement, of any log of the kind; null when none does. Systems that a
 * seal names never narrow it: what may be of them is kept.
 */
export async function holdOver(
  host: PluginHost,
  kind: Kind,
  statement: JsonObject,
): Promise<Hold | null> {
  const { tenant_ref } = statement;
  if (typeof tenant_ref !== 'string') return null;
  const prefix = holdsOf(tenant_ref);
  for (const log of host.logs(kind)) {
    for (let after: string | undefined; ;) {
      const options = { limit: PAGE, ...(after === undefined ? {} : { after }) };
      const rows = await log.rows(prefix, options);
      const found = rows
        .map(([, row]) => row as unknown as Hold)
        .filter((hold) => covers(hold, statement))
        .find(({ entry_id }) => !releasedSince(host, log, tenant_ref, entry_id));
      if (found !== undefined) return found;
      after = rows.at(-1)?.[0];
      if (rows.length < PAGE || after === undefined) break;
    }
  }
  return null;
}

/** Whether a log after the one of a seal ends its hold: its own log says so by having no row of it. */
export const releasedSince = (
  host: Pick<PluginHost, 'logs'>,
  { kind, number }: LogView,
  tenant_ref: string,
  seal_id: string,
): boolean =>
  host
    .logs(kind)
    .some((log) => log.number > number && log.row(releasedHold(tenant_ref, seal_id)) !== undefined);

/** Whether a hold of its tenant covers an entry. */
function covers({ sessions, from_ms, to_ms }: Hold, statement: JsonObject): boolean {
  const { session_ref } = statement;
  const issued_at_ms = statement['issued_at_ms'] as number;
  if (issued_at_ms < (from_ms ?? 0) || issued_at_ms > (to_ms ?? Infinity)) return false;
  return sessions === null || (typeof session_ref === 'string' && sessions.includes(session_ref));
}
