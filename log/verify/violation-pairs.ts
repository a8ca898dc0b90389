// The rules about two logs that a finding can show to be broken: what a log and its successor say of each other, what a
// successor carries over, and keys that two logs share (log/FORMAT.md §7 and §7.1).

import { publicKeyOfJwk } from '../crypto/thumbprint.ts';
import { equal, toHex } from '../encoding/bytes.ts';
import { isJsonObject } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { isLogError } from '../errors.ts';
import { isNeighbour, originParts } from '../map/grammar.ts';
import type { OriginParts } from '../map/grammar.ts';
import { parseVkey } from '../note/note.ts';
import type { TreeHead } from './entry.ts';
import { inTree, isCount, kept, lastOf, notOfRule, partsOf, timeIn } from './violation-evidence.ts';
import type { KnownLog, Proven, Rule, Shown } from './violation-evidence.ts';

/** An entry type by which a plugin carries (log/FORMAT.md §1.3). */
const CARRIED = /\.carried\.v[1-9][0-9]*$/u;

/** An entry of the earlier log of a finding, under the first note. */
interface Earlier {
  readonly shown: Shown;
  readonly statement: JsonObject;
}

/** A log, its successor, and the entry 0 of the successor, under the second note. */
interface Pair {
  readonly older: KnownLog;
  readonly newer: KnownLog;
  readonly tree: TreeHead;
  readonly opening: JsonObject;
  /** What entry 0 says of the older log; null if it does not name it. */
  readonly claimed: { readonly size: number; readonly root: Json | undefined } | null;
  readonly before: Earlier | null;
}

function logOf({ logs }: Proven, note: number): KnownLog {
  return logs[note] ?? kept();
}

function numberOf({ origin }: KnownLog): OriginParts {
  return originParts(origin) ?? kept();
}

/** The entry before the last one, which the first of two notes commits to; null if there is none. */
function earlierOf(proven: Proven): Earlier | null {
  const { before } = lastOf(proven);
  if (before === undefined) return null;
  if (before.note !== 0) return kept();
  return { shown: before, statement: partsOf(proven.suite, before).statement };
}

/** Takes a finding about a log and its direct successor apart. */
function pairOf(proven: Proven): Pair {
  const { last } = lastOf(proven);
  const [older, newer] = [logOf(proven, 0), logOf(proven, 1)];
  if (!isNeighbour(newer.origin, numberOf(older), 1) || last.note !== 1) return kept();
  const opening = openingOf(proven, last);
  const { predecessor } = opening;
  const { origin, size, root } = isJsonObject(predecessor) ? predecessor : {};
  const claimed = origin === older.origin && isCount(size) ? { size, root } : null;
  const tree = proven.trees[0] ?? kept();
  return { older, newer, tree, opening, claimed, before: earlierOf(proven) };
}

/** The statement of an entry 0 that opens a log. */
function openingOf({ suite }: Proven, shown: Shown): JsonObject {
  const { statement } = partsOf(suite, shown);
  return shown.index === 0 && statement.type === 'log.open.v1' ? statement : kept();
}

const opened = ({ older, newer }: Pair, size: number): string =>
  `opened ${newer.origin} as the successor of ${older.origin} after ${String(size)} entries`;

const grown = (pair: Pair, size: number): string =>
  `${opened(pair, size)}, and signed a checkpoint of ${String(pair.tree.size)} entries of ${pair.older.origin}`;

function predecessor(proven: Proven): string | null {
  const { trust, notes, entries } = proven;
  if (notes.length === 1) {
    if (entries.length !== 1) throw notOfRule();
    const { last } = lastOf(proven);
    const own = numberOf(trust);
    const { predecessor: named = null } = openingOf(proven, last);
    if (own.number === 1) {
      if (named === null) return kept();
      return inTree(proven, last, 'opens the first log of its kind and names a predecessor');
    }
    const before = isJsonObject(named) ? named.origin : undefined;
    if (isNeighbour(before, own, -1)) return kept();
    return inTree(proven, last, 'opens the log and does not name the log before it');
  }
  const pair = pairOf(proven);
  const { older, newer, tree, opening, claimed, before } = pair;
  if (before === null) {
    if (claimed === null) {
      return `opened ${newer.origin} as the log after ${older.origin}, and its first entry does not name that log as its predecessor`;
    }
    const { size, root } = claimed;
    if (tree.size > size) return grown(pair, size);
    // An entry that the document does not show may break the rule.
    if (tree.size < size || root === toHex(tree.root)) return null;
    return `signed a checkpoint of ${String(size)} entries of ${older.origin}, and opened ${newer.origin} as its successor with another root of these entries`;
  }
  if (claimed === null) return kept();
  const { shown, statement } = before;
  // A map head follows the entry that closes the log, and nothing follows the map head.
  if (statement.type === 'log.closed.v1' && claimed.size > shown.index + 2) {
    return `closed ${older.origin} at entry ${String(shown.index)}, and ${opened(pair, claimed.size)}`;
  }
  const [ms, own] = [timeIn(statement), timeIn(opening)];
  if (ms === null || own === null || ms < own) return kept();
  return `opened ${newer.origin} as the successor of ${older.origin} at a time that is not after that of entry ${String(shown.index)} of ${older.origin}`;
}

function successor(proven: Proven): string {
  const { trust, notes, entries } = proven;
  if (notes.length === 1) {
    if (entries.length !== 1) throw notOfRule();
    const { last } = lastOf(proven);
    const { type, successor: named = null } = partsOf(proven.suite, last).statement;
    const keeps = named === null || isNeighbour(named, numberOf(trust), 1);
    if (type !== 'log.closed.v1' || keeps) return kept();
    return inTree(
      proven,
      last,
      'closes the log and names a successor that is not the log after it',
    );
  }
  const { older, newer, claimed, before } = pairOf(proven);
  if (before === null) throw notOfRule();
  const { shown, statement } = before;
  const { type, successor: named } = statement;
  if (claimed === null || type !== 'log.closed.v1' || named === newer.origin) return kept();
  return `closed ${older.origin} at entry ${String(shown.index)} without naming ${newer.origin}, and opened ${newer.origin} as the successor of ${older.origin}`;
}

function twoLogs(proven: Proven): string {
  const pair = pairOf(proven);
  const { claimed, before } = pair;
  if (claimed === null || before === null || before.shown.index < claimed.size) return kept();
  return grown(pair, claimed.size);
}

/** The entry that a carried entry names; null if it names none. */
function restsOn({ rests_on }: JsonObject): {
  readonly number: number;
  readonly index: number;
  readonly entry_id: string | null;
  readonly leaf_hash: string | null;
} | null {
  if (!isJsonObject(rests_on)) return null;
  const { log_number, index, entry_id = null, leaf_hash = null } = rests_on;
  if (!isCount(log_number) || log_number === 0 || !isCount(index)) return null;
  if (!isTextOrNull(entry_id) || !isTextOrNull(leaf_hash)) return null;
  return { number: log_number, index, entry_id, leaf_hash };
}

const isTextOrNull = (value: Json): value is string | null =>
  value === null || typeof value === 'string';

function carried(proven: Proven): string | null {
  const { trust, notes, entries, suite } = proven;
  if (entries.length !== notes.length) throw notOfRule();
  const { last } = lastOf(proven);
  const { statement } = partsOf(suite, last);
  const { type } = statement;
  if (typeof type !== 'string' || !CARRIED.test(type) || last.note !== notes.length - 1) {
    return kept();
  }
  const own = numberOf(trust);
  const named = restsOn(statement);
  const before = earlierOf(proven);
  if (before === null) {
    if (named !== null && named.number < own.number) return kept();
    const words = named === null ? 'no entry' : 'an entry of a log that is not an earlier one';
    return inTree(proven, last, `was carried over and names ${words}`);
  }
  const older = logOf(proven, 0);
  const { kind, number } = numberOf(older);
  if (named === null || kind !== own.kind || number !== named.number || number >= own.number) {
    return kept();
  }
  const { index, entry_id, leaf_hash } = named;
  const size = String(proven.trees[1]?.size ?? 0);
  const said = (words: string): string =>
    `signed a checkpoint of ${size} entries of ${trust.origin} in which entry ${String(last.index)} was carried over and names entry ${String(index)} of ${older.origin}${words}`;
  const { shown } = before;
  if (shown.index !== index) {
    if (shown.index > index) return kept();
    // Only the entry that closes the log shows where it ends.
    if (before.statement.type !== 'log.closed.v1') return null;
    if (index <= shown.index + 1) return kept();
    return said(`, which was closed at entry ${String(shown.index)}`);
  }
  if (number === own.number - 1 && (entry_id === null || leaf_hash === null)) {
    return said(' without its id and leaf hash');
  }
  if (leaf_hash !== null && leaf_hash !== toHex(shown.leafHash))
    return said(' with another leaf hash');
  if (entry_id !== null && entry_id !== before.statement.entry_id) return said(' with another id');
  return kept();
}

/** The key that an entry declares for receipts, 32 bytes. */
function declaredKey({ type, jwk, key }: JsonObject): Uint8Array {
  const declared = type === 'log.open.v1' ? jwk : type === 'log.key.v1' ? key : undefined;
  if (!isJsonObject(declared)) return kept();
  try {
    return publicKeyOfJwk(declared);
  } catch (error) {
    if (!isLogError(error)) throw error;
    return kept();
  }
}

function keyShared(proven: Proven): string {
  const { suite, entries } = proven;
  const uses = [0, 1].map((note) => {
    const log = logOf(proven, note);
    const [shown, ...more] = entries.filter((entry) => entry.note === note);
    if (more.length > 0) throw notOfRule();
    if (shown === undefined) {
      const key = parseVkey(suite, log.vkey).publicKey;
      return { log, declared: false, key, words: `the checkpoint key of ${log.origin}` };
    }
    const key = declaredKey(partsOf(suite, shown).statement);
    const words = `the receipt key that entry ${String(shown.index)} of ${log.origin} declares`;
    return { log, declared: true, key, words };
  });
  const [one, other] = uses;
  if (one === undefined || other === undefined || !equal(one.key, other.key)) return kept();
  const kinds = numberOf(one.log).kind !== numberOf(other.log).kind;
  if (!kinds && one.declared === other.declared) return kept();
  return `uses one key as ${one.words} and as ${other.words}`;
}

/** The rules about two logs. Some of them can also be broken by one log alone. */
export const PAIR_RULES: Readonly<Record<string, Rule>> = {
  predecessor: { notes: [1, 2], entries: [1, 2], logs: true, broken: predecessor },
  successor: { notes: [1, 2], entries: [1, 2], logs: true, broken: successor },
  two_logs: { notes: [2, 2], entries: [2, 2], logs: true, broken: twoLogs },
  carried: { notes: [1, 2], entries: [1, 2], logs: true, broken: carried },
  key_shared: { notes: [2, 2], entries: [0, 2], logs: true, broken: keyShared },
};
