// Reads the text of an entry: what was signed, by whom, and its place in the tree (log/FORMAT.md §2).
// Says nothing of whether the entry belongs where it stands: that is openEntry's and replay's part.

import { fromBase64, utf8 } from '../encoding/bytes.ts';
import { canonical, isCanonical } from '../encoding/canonical.ts';
import { isJsonObject, parseJson } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json-types.ts';
import type { Suite } from '../crypto/suite.ts';
import { LogError } from '../errors.ts';
import { leafOf } from '../merkle/hash.ts';

/** Most bytes of an entry (C2SP tlog-tiles: a u16 length). */
export const MAX_ENTRY_BYTES = 65_535;

/** An entry taken apart; nothing of it is verified but its form. */
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
 * Takes the text of an entry apart.
 *
 * @throws LogError `entry_too_large`, `json_invalid`, `encoding_invalid` when it has no signature of 64
 * bytes in base64, or `entry_invalid` when the text is not its own JCS
 */
export function readEntry(suite: Suite, text: string): EntryParts {
  // A text has at least as many bytes as units: what is far too long is not even parsed.
  checkSize(text.length);
  const value = parseJson(text);
  const leaf = leafOf(text);
  checkSize(leaf.length - 1);
  if (!isJsonObject(value)) throw new LogError('json_invalid', 'entry is not an object');
  const signature = readSignature(value.signature);
  if (!isCanonical(text, value)) throw new LogError('entry_invalid', 'entry is not canonical');
  const { signature: member, ...statement } = value;
  // What is left of a canonical text without a member is canonical too; its like may stand deeper within.
  const piece = `"signature":"${member as string}"`;
  const at = text.indexOf(piece);
  const end = at + piece.length;
  const ascii = leaf.length === text.length + 1;
  const plain = ascii && text[end] === ',' && !text.includes(piece, end);
  const leafHash = suite.sha256(leaf);
  // In place: the bytes of the leaf are of no more use.
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
