// Retention holds: whether a seal forbids to destroy what belongs to an entry. behaviour.md §1.2, §7.9.

import type { JsonObject, Kind, PluginHost } from '../contract.ts';
import { holdsOf } from './entries.ts';
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
      const found = rows.find(([, row]) => covers(row as unknown as Hold, statement));
      if (found !== undefined) return found[1] as unknown as Hold;
      after = rows.at(-1)?.[0];
      if (rows.length < PAGE || after === undefined) break;
    }
  }
  return null;
}

/** Whether a hold of its tenant covers an entry. */
function covers({ sessions, from_ms, to_ms }: Hold, statement: JsonObject): boolean {
  const { session_ref } = statement;
  const issued_at_ms = statement['issued_at_ms'] as number;
  if (issued_at_ms < (from_ms ?? 0) || issued_at_ms > (to_ms ?? Infinity)) return false;
  return sessions === null || (typeof session_ref === 'string' && sessions.includes(session_ref));
}
