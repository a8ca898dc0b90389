// When a hold expires: `hold_ttl_s` of the policy that held the act, after the decision. gateway/API.md §8.1.

import type { JsonObject, Kind, PluginHost } from '../contract/index.ts';
import { gateCatalog } from './asking.ts';
import { policyAt } from './policies.ts';

/** Milliseconds of UTC from which on a held act is refused; `held` is the statement of the decision. */
export function holdExpiry(host: PluginHost, kind: Kind, held: JsonObject): number {
  const { origin, policy_entry_id, issued_at_ms } = held;
  const log = host.logs(kind).find((served) => served.origin === origin);
  const index =
    typeof policy_entry_id === 'string' ? log?.indexOfEntry(policy_entry_id) : undefined;
  const policy = log === undefined || typeof index !== 'number' ? null : policyAt(log, index);
  const { hold_ttl_ms } = gateCatalog(host);
  const ttl_s = policy?.hold_ttl_s;
  return (issued_at_ms as number) + (ttl_s === undefined ? hold_ttl_ms : ttl_s * 1000);
}

/** A time as text of RFC 3339. */
export const rfc3339 = (ms: number): string => new Date(ms).toISOString();
