// The rules that a finding can show to be broken, each with what is recomputed from its evidence (log/FORMAT.md §7.1).
// Those about two logs are in violation-pairs.ts.

import { publicKeyOfJwk } from '../crypto/thumbprint.ts';
import type { Suite } from '../crypto/suite.ts';
import { equal, toBase64 } from '../encoding/bytes.ts';
import { isJsonObject } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { isLogError } from '../errors.ts';
import { typeName, uuidV7 } from '../map/grammar.ts';
import { parseCheckpoint } from '../note/checkpoint.ts';
import { splitNote } from '../note/note.ts';
import { count, refused, string } from './document.ts';
import { linkOn, readEntry } from './entry.ts';
import type { TreeHead } from './entry.ts';
import { DERIVED } from './receipt.ts';
import { isSandbox } from './recognise.ts';
import { checkInForce, keyOf } from './trust.ts';
import {
  inTree,
  kept,
  lastOf,
  MAX_ENTRIES,
  partsOf,
  sizeOf,
  timeIn,
} from './violation-evidence.ts';
import type { Proven, Rule, Shown } from './violation-evidence.ts';
import { PAIR_RULES } from './violation-pairs.ts';

/** The first and the second root of a finding with two notes. */
function rootsOf({ trees }: Proven): readonly [TreeHead, TreeHead] {
  const [one, other] = trees;
  return one === undefined || other === undefined ? kept() : [one, other];
}

/** A rule about one entry: what `broken` says of its statement and place; null where the entry keeps the rule. */
const ofEntry = (
  broken: (statement: JsonObject, index: number, proven: Proven) => string | null,
  most = 1,
): Rule => ({
  notes: [1, 1],
  entries: [1, most],
  broken(proven) {
    const { last, before } = lastOf(proven);
    if (before !== undefined && before.index !== 0) return kept();
    const said = broken(partsOf(proven.suite, last).statement, last.index, proven);
    return said === null ? kept() : inTree(proven, last, said);
  },
});

/** A rule about the text that the log signed, which need not be a checkpoint. */
const ofText = (broken: (text: string) => string | null): Rule => ({
  notes: [1, 1],
  entries: [0, 0],
  anyText: true,
  broken({ notes: [note = ''], trust }) {
    const { text } = splitNote(note);
    // The line of a successor's key can be put under the name of its predecessor, since it signs the text alone.
    if (text.split('\n', 1)[0] !== trust.origin) return kept();
    return broken(text) ?? kept();
  },
});

/** One statement with its place. */
interface Placed {
  readonly index: number;
  readonly statement: JsonObject;
}

/** A rule about an entry and an earlier one. */
const ofPair = (broken: (before: Placed, last: Placed) => string | null): Rule => ({
  notes: [1, 1],
  entries: [2, 2],
  broken(proven) {
    const { last, before } = lastOf(proven);
    if (before === undefined || before.index >= last.index) return kept();
    const [one, other] = [before, last].map((shown) => partsOf(proven.suite, shown).statement);
    const said = broken(
      { index: before.index, statement: one ?? {} },
      { index: last.index, statement: other ?? {} },
    );
    return said === null ? kept() : inTree(proven, last, said);
  },
});

/** The text of an entry is not one of log/FORMAT.md §2. */
const malformed: Rule = {
  notes: [1, 1],
  entries: [1, 1],
  broken(proven) {
    const { last } = lastOf(proven);
    if (last.text === null) return kept();
    try {
      readEntry(proven.suite, last.text);
    } catch (error) {
      if (!isLogError(error)) throw error;
      return inTree(proven, last, 'is not the text of an entry');
    }
    return kept();
  },
};

const otherMember = (name: string, said: string, own: (proven: Proven, index: number) => Json) =>
  ofEntry(({ [name]: value }, index, proven) => (value === own(proven, index) ? null : said));

const table = (): Readonly<Record<string, Rule>> => ({
  two_roots: {
    notes: [2, 2],
    entries: [0, 0],
    broken(proven) {
      const [one, other] = rootsOf(proven);
      if (one.size !== other.size || equal(one.root, other.root)) return kept();
      const roots = `${toBase64(one.root)} and ${toBase64(other.root)}`;
      return `signed two different roots for the tree of ${String(one.size)} entries: ${roots}`;
    },
  },
  inconsistent: {
    notes: [2, 2],
    entries: [0, 0],
    consistency: true,
    broken(proven) {
      const [older, newer] = rootsOf(proven);
      if (proven.consistency === null || equal(proven.consistency.fromRoot, older.root)) {
        return kept();
      }
      const [from, to] = [String(older.size), String(newer.size)];
      return `signed a checkpoint of ${from} entries and one of ${to} entries, and the first ${from} entries of the two are not the same`;
    },
  },
  checkpoint_form: ofText((text) => {
    try {
      parseCheckpoint(text);
      return null;
    } catch (error) {
      if (!isLogError(error)) throw error;
      return 'signed a note that names the log and is not a checkpoint';
    }
  }),
  checkpoint_size: ofText((text) =>
    parseCheckpoint(text).size === 0 ? 'signed a checkpoint of no entries' : null,
  ),
  checkpoint_map_head: ofEntry(({ type }, index, proven) =>
    index === (proven.trees[0]?.size ?? 0) - 1 && type !== 'log.map_head.v1'
      ? 'is the last one and is not a map head'
      : null,
  ),
  two_entries: {
    notes: [1, 1],
    entries: [2, MAX_ENTRIES],
    stray: true,
    broken(proven) {
      const { suite, trust } = proven;
      const { last, before } = lastOf(proven);
      if (before?.path !== null || before.index !== last.index) return kept();
      const { statement, message, signature, leafHash } = partsOf(suite, before);
      const { origin, index, kid, issued_at_ms } = statement;
      if (origin !== trust.origin || index !== last.index || equal(leafHash, last.leafHash)) {
        return kept();
      }
      const { key, publicKey } = keyOf(suite, trust, string(kid, 'kid of an entry'));
      const ms = count(issued_at_ms, 'issued_at_ms of an entry');
      checkInForce(key, { index, issued_at_ms: ms, included: false });
      if (!suite.verify(publicKey, message, signature)) {
        throw refused('signature of an entry is not valid');
      }
      return `signed an entry of the index ${String(index)}, and a checkpoint of ${sizeOf(proven)} entries that has another entry at that index`;
    },
  },
  entry_size: malformed,
  entry_json: malformed,
  entry_canonical: malformed,
  signature_form: malformed,
  signature: {
    notes: [1, 1],
    entries: [1, 1],
    broken(proven) {
      const { suite, trust } = proven;
      const { last } = lastOf(proven);
      const { statement, message, signature } = partsOf(suite, last);
      const { key } = keyOf(suite, trust, string(statement.kid, 'kid of an entry'));
      if (suite.verify(publicKeyOfJwk(key.jwk), message, signature)) return kept();
      return inTree(proven, last, 'does not have a valid signature of the key that it names');
    },
  },
  member_forbidden: ofEntry((statement) =>
    DERIVED.some((name) => Object.hasOwn(statement, name))
      ? 'has a member that no entry may have'
      : null,
  ),
  type_form: ofEntry(({ type }) =>
    typeof type === 'string' && typeName.test(type) ? null : 'has no well-formed type',
  ),
  issued_at_ms: ofEntry((statement) => (timeIn(statement) === null ? 'has no valid time' : null)),
  origin: otherMember('origin', 'names another log', ({ trust }) => trust.origin),
  sandbox: otherMember('sandbox', 'does not say truly whether the log is a sandbox', ({ trust }) =>
    isSandbox(trust.origin),
  ),
  index: otherMember('index', 'names another index', (_, index) => index),
  entry_id: ofEntry((statement) => {
    const { entry_id } = statement;
    const well = typeof entry_id === 'string' && uuidV7.test(entry_id);
    const ms = well ? parseInt(entry_id.slice(0, 8) + entry_id.slice(9, 13), 16) : null;
    return well && ms === statement.issued_at_ms
      ? null
      : 'has an entry_id that is not a UUIDv7 of its time';
  }),
  log_open: ofEntry(({ type }, index) => {
    if ((index === 0) === (type === 'log.open.v1')) return null;
    return index === 0 ? 'is the first one and does not open the log' : 'opens the log again';
  }, 2),
  log_closed: ofPair((before, last) => {
    if (before.statement.type !== 'log.closed.v1') return null;
    const follows =
      last.index === before.index + 1 && last.statement.type === 'log.map_head.v1'
        ? null
        : `follows entry ${String(before.index)}, which closed the log`;
    return follows;
  }),
  time_order: ofPair((before, last) => {
    const [ms, own] = [timeIn(before.statement), timeIn(last.statement)];
    if (before.index !== last.index - 1 || ms === null || own === null || ms <= own) return null;
    return `is dated before entry ${String(before.index)}`;
  }),
  time_after_map_head: ofPair((before, last) => {
    const [ms, own] = [timeIn(before.statement), timeIn(last.statement)];
    if (before.statement.type !== 'log.map_head.v1' || ms === null || own === null || ms < own) {
      return null;
    }
    return `is not dated after entry ${String(before.index)}, a map head`;
  }),
  entry_id_order: ofPair((before, last) => {
    const [id, own] = [before.statement.entry_id, last.statement.entry_id];
    if (before.index !== last.index - 1 || !isUuid(id) || !isUuid(own) || id < own) return null;
    return `does not have a greater entry_id than entry ${String(before.index)}`;
  }),
  links: {
    notes: [1, 1],
    entries: [1, MAX_ENTRIES],
    broken(proven) {
      const { last, before } = lastOf(proven);
      if (before === undefined || before.index >= last.index || proven.entries.length > 2) {
        return null;
      }
      const [one, other] = [before, last].map((shown) => placedOf(proven.suite, shown));
      if (one === undefined || other === undefined || !leavesOut(one, other)) return null;
      const said = `leaves out entry ${String(one.index)} of a chain that both are on`;
      return inTree(proven, last, said);
    },
  },
  ...PAIR_RULES,
});

/** The rules that the evidence alone can show to be broken (log/FORMAT.md §7.1). */
// The annotation allows a bundler to leave out what a bundle does not use.
export const RULES = /* @__PURE__ */ table();

const isUuid = (value: Json | undefined): value is string =>
  typeof value === 'string' && uuidV7.test(value);

/** The statement of an entry with its place; undefined if the entry is malformed or withheld. */
function placedOf(suite: Suite, shown: Shown): Placed | undefined {
  try {
    return { index: shown.index, statement: partsOf(suite, shown).statement };
  } catch (error) {
    if (!isLogError(error)) throw error;
    return undefined;
  }
}

/** Whether both entries are on a chain, on which the later one names no entry, or one before the earlier one. */
function leavesOut(earlier: Placed, later: Placed): boolean {
  const { links } = earlier.statement;
  return (Array.isArray(links) ? (links as readonly Json[]) : []).some((link) => {
    const key = isJsonObject(link) ? link.key : undefined;
    const chain = Array.isArray(key) ? (key as readonly Json[]) : [];
    if (chain.length === 0 || !chain.every((part) => typeof part === 'string')) return false;
    try {
      linkOn(earlier, chain);
      const { prev } = linkOn(later, chain);
      return prev === null || prev.index < earlier.index;
    } catch (error) {
      if (!isLogError(error)) throw error;
      return false;
    }
  });
}
