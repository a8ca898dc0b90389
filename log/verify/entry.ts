// Reads entries. `readEntry` parses the text of an entry and checks its form (log/FORMAT.md §2). `openEntry` also
// checks that a trusted key signed it and that a tree contains it (log/FORMAT.md §6.2). Whether it keeps the rules of
// the log is checked by replay.

import { fromBase64, utf8 } from '../encoding/bytes.ts';
import { canonical, isCanonical } from '../encoding/canonical.ts';
import { isJsonObject, parseJson } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import type { Suite } from '../crypto/suite.ts';
import { LogError } from '../errors.ts';
import { leafOf } from '../merkle/hash.ts';
import { checkInclusion } from '../merkle/check.ts';
import { sameKey } from '../map/key.ts';
import type { ChainKey } from '../types.ts';
import { count, exactObject, path, refused, string } from './document.ts';
import { checkInForce, keyOf } from './trust.ts';
import type { Trust } from './trust.ts';

/** Limit on the bytes of an entry: its length in an entry bundle is a u16 (C2SP tlog-tiles). */
export const MAX_ENTRY_BYTES = 65_535;

/** A parsed entry, of which only the form is checked. */
export interface EntryParts {
  readonly text: string;
  readonly statement: JsonObject;
  /** The signed bytes: JCS of the statement. */
  readonly message: Uint8Array;
  /** 64 bytes. */
  readonly signature: Uint8Array;
  readonly leafHash: Uint8Array;
}

/**
 * Parses the text of an entry.
 *
 * @throws LogError `entry_too_large`; `json_invalid`; `encoding_invalid` if it has no signature of 64 bytes in base64;
 *   `entry_invalid` if the text is not canonical
 */
export function readEntry(suite: Suite, text: string): EntryParts {
  // A text has at least as many bytes as UTF-16 units, so a much too long text is refused before it is parsed.
  checkSize(text.length);
  const value = parseJson(text);
  const leaf = leafOf(text);
  checkSize(leaf.length - 1);
  if (!isJsonObject(value)) throw new LogError('json_invalid', 'entry is not an object');
  const signature = readSignature(value.signature);
  if (!isCanonical(text, value)) throw new LogError('entry_invalid', 'entry is not canonical');
  const { signature: member, ...statement } = value;
  // Without its signature member, a canonical text is the canonical text of the statement. The member is cut out of the
  // bytes if its text occurs only once; a nested member could have the same text.
  const piece = `"signature":"${member as string}"`;
  const at = text.indexOf(piece);
  const end = at + piece.length;
  const ascii = leaf.length === text.length + 1;
  const plain = ascii && text[end] === ',' && !text.includes(piece, end);
  const leafHash = suite.sha256(leaf);
  // The bytes of the leaf are overwritten, because they have been hashed.
  const message = plain
    ? leaf.copyWithin(at + 1, end + 2).subarray(1, at + leaf.length - end - 1)
    : utf8(canonical(statement));
  return { text, statement, message, signature, leafHash };
}

/** `entry_too_large` over 65,535 bytes. */
function checkSize(bytes: number): void {
  if (bytes > MAX_ENTRY_BYTES) {
    throw new LogError(
      'entry_too_large',
      `entry is ${String(bytes)} bytes, the limit is ${String(MAX_ENTRY_BYTES)}`,
    );
  }
}

/** The 64 bytes of a `signature` member, else `encoding_invalid`. */
function readSignature(value: Json | undefined): Uint8Array {
  if (typeof value !== 'string') throw new LogError('encoding_invalid', 'entry has no signature');
  return fromBase64(value, 64);
}

// Opened entries and their links. log/FORMAT.md §6.2, §6.4 and §3.

/** A tree head from a verified note. */
export interface TreeHead {
  readonly size: number;
  readonly root: Uint8Array;
}

/** An entry that a trusted key signed and that the tree contains. */
export interface OpenedEntry {
  readonly index: number;
  /** Its `issued_at_ms`, in log time. */
  readonly ms: number;
  readonly type: string;
  readonly statement: JsonObject;
  readonly leafHash: Uint8Array;
}

/** A link of an opened entry on one chain. */
export interface OpenedLink {
  readonly seq: number;
  /** Null exactly if seq is 0. */
  readonly prev: { readonly index: number; readonly ms: number } | null;
}

/**
 * Opens `{index, entry, path}`: checks that the text is canonical, that index and origin agree, that a trusted key
 * signed the entry, and that the tree contains it at its index.
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
    throw refused('signature of an opened entry is not valid');
  }
  return { index, ms, type, statement, leafHash: entry.leafHash };
}

/**
 * The link of an opened entry on a chain. Throws `document_invalid` unless it has exactly one, which is well formed.
 */
export function linkOn(entry: Pick<OpenedEntry, 'index' | 'statement'>, key: ChainKey): OpenedLink {
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
