// A kit against one that the caller has kept: that it speaks of the same logs, by the same keys. gateway/API.md §2.1: a
// newer kit may add logs and keys, and end keys; it takes none away.

import type { JsonObject } from '../../log/index.ts';
import { contradiction } from '../../gateway/static/verify/trust.ts';
import { refused } from './lines.ts';
import { list, objectOf, text } from './reading.ts';

/**
 * Compares a kit with the pinned one; either may be the newer.
 *
 * @throws LogError with the first thing in which they differ
 */
export function comparedWith(pinned: JsonObject, kit: JsonObject): string {
  const differs = (older: JsonObject, newer: JsonObject): string | null =>
    contradiction(older, newer) ?? otherKey(older, newer);
  const wrong = differs(pinned, kit);
  if (wrong === null) return 'it has the logs and the keys of the pinned kit';
  // Times are the kits' own word: which is the newer one shows by what it has.
  if (differs(kit, pinned) === null) return 'the pinned kit has its logs and keys, and is newer';
  throw refused(`against the pinned kit, ${wrong}`);
}

/** A key of another purpose, such as AIR or COSE, that is another one or gone. */
function otherKey(older: JsonObject, newer: JsonObject): string | null {
  const now = purposeKeys(newer);
  for (const [name, key] of purposeKeys(older)) {
    if (now.get(name) !== key) return `it has no such ${name}`;
  }
  return null;
}

/** The keys of other purposes than receipts, each under its purpose, log and name. */
function purposeKeys(kit: JsonObject): Map<string, string> {
  const keys = ['keys', 'cose_keys'].flatMap((member) =>
    list(objectOf(kit[member] ?? null)['keys']),
  );
  return new Map(
    keys
      .filter(({ purpose }) => purpose !== undefined)
      .map(({ purpose, origin, kid, kty, crv, x, y }) => {
        const name = `key for ${text(purpose) ?? ''} of ${text(origin) ?? ''}: ${text(kid) ?? ''}`;
        return [name, [kty, crv, x, y].map((part) => text(part) ?? '').join(' ')];
      }),
  );
}
