// The keys of disclosures of a cluster: secrets in PostgreSQL, read when they are needed. No node has a copy, so an
// erasure has nothing else to delete.

import type { Secrets } from '../../log/index.ts';
import type { KeyDatabase } from '../tenants/disclosures.ts';

/** Prefix of the names of these secrets. */
export const DISCLOSURE_KEYS = 'disclosure/';

/** Keys of disclosures by the name of their row. */
export function secretRows(secrets: Secrets): KeyDatabase {
  const named = (key: string): string => DISCLOSURE_KEYS + key;
  return {
    damaged: false,
    put: (rows) => secrets.put(new Map(rows.map(({ key, value }) => [named(key), value]))),
    delete: (keys) => secrets.delete(keys.map(named)),
    erase: (key) => secrets.delete([named(key)]),
    get: (key) => secrets.get(named(key)),
    close: () => Promise.resolve(),
  };
}
