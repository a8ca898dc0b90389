// The *opened* rule and the links of opened entries. log/FORMAT.md §6.2, §6.4 and §3.

import type { Suite } from '../crypto/suite.ts';
import { isJsonObject } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json-types.ts';
import { checkInclusion } from '../merkle/check.ts';
import { sameKey } from '../map/key.ts';
import type { ChainKey } from '../types.ts';
import { readEntry } from './entry.ts';
import { count, exactObject, path, refused, string } from './shape.ts';
import { checkInForce, keyOf } from './trust.ts';
import type { Trust } from './trust.ts';

/** A tree head that was opened from a signed note. */
export interface TreeHead {
  readonly size: number;
  readonly root: Uint8Array;
}

/** An entry that is signed by a trusted key and included under a tree head. */
export interface OpenedEntry {
  readonly index: number;
  /** issued_at_ms: log time. */
  readonly ms: number;
  readonly type: string;
  readonly statement: JsonObject;
  readonly leafHash: Uint8Array;
}

/** A link on one chain, checked to be whole. */
export interface OpenedLink {
  readonly seq: number;
  /** Both null exactly when seq is 0. */
  readonly prev: { readonly index: number; readonly ms: number } | null;
}

/**
 * Opens `{index, entry, path}`: the text is canonical, index and origin agree, the signature is that of
 * a trusted key, and the entry is included at its index under the tree head.
 *
 * @throws LogError of the check that failed
 */
export function openEntry(suite: Suite, trust: Trust, tree: TreeHead, opened: Json): OpenedEntry {
  const members = exactObject(opened, 'opened entry', ['index', 'entry', 'path']);
  const index = count(members.index, 'index of an opened entry');
  const entry = readEntry(suite, string(members.entry, 'text of an opened entry'));
  const { statement } = entry;
  if (statement.index !== index) throw refused('index of an opened entry is not its own');
  if (statement.origin !== trust.origin) throw refused('opened entry is of another log');
  const ms = count(statement.issued_at_ms, 'issued_at_ms of an entry');
  const type = string(statement.type, 'type of an entry');
  const { key, publicKey } = keyOf(suite, trust, string(statement.kid, 'kid of an entry'));
  checkInclusion(suite, {
    index,
    size: tree.size,
    leafHash: entry.leafHash,
    path: path(members.path, 'path of an opened entry'),
    root: tree.root,
  });
  checkInForce(key, { index, issued_at_ms: ms, included: true });
  if (!suite.verify(publicKey, entry.message, entry.signature)) {
    throw refused('signature of an opened entry does not hold');
  }
  return { index, ms, type, statement, leafHash: entry.leafHash };
}

/** The one link of an opened entry on a chain; none or several, or a torn one, is `document_invalid`. */
export function linkOn(entry: OpenedEntry, key: ChainKey): OpenedLink {
  const { links } = entry.statement;
  const found = (Array.isArray(links) ? (links as readonly Json[]) : []).filter((link) =>
    isLinkOn(link, key),
  );
  const [link, ...others] = found;
  if (link === undefined) throw refused('entry has no link on the chain');
  if (others.length > 0) throw refused('entry has several links on the chain');
  const { seq, prev_index, prev_ms } = link as JsonObject;
  if (count(seq, 'seq of a link') === 0) {
    if (prev_index !== null || prev_ms !== null) throw refused('first link has an entry before it');
    return { seq: 0, prev: null };
  }
  const prev = {
    index: count(prev_index, 'prev_index of a link'),
    ms: count(prev_ms, 'prev_ms of a link'),
  };
  if (prev.index >= entry.index) throw refused('link points forward');
  return { seq: seq as number, prev };
}

function isLinkOn(link: Json, key: ChainKey): boolean {
  if (!isJsonObject(link)) return false;
  const { key: other } = link;
  return Array.isArray(other) && sameKey(other as ChainKey, key);
}
