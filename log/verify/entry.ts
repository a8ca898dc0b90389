// Reads the text of an entry: what was signed, by whom, and its place in the tree (formats.md §2).
// Says nothing of whether the entry belongs where it stands: that is openEntry's and replay's part.

import { fromBase64, utf8 } from '../encoding/bytes.ts';
import { canonical } from '../encoding/canonical.ts';
import { isJsonObject, parseJson } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json-types.ts';
import type { Suite } from '../crypto/suite.ts';
import { LogError } from '../errors.ts';
import { leafHash } from '../merkle/hash.ts';

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

/** JCS of an object, and of it without its `signature`, for the price of one. */
export interface SignedText {
  readonly statement: JsonObject;
  /** JCS of the statement. */
  readonly message: string;
  /** JCS of the statement with its signature. */
  readonly text: string;
}

/**
 * The canonical texts of a statement with a signature. JCS sorts members by UTF-16 code units, so
 * the members before and after `signature` are written once and serve both texts.
 */
export function signedText(entry: JsonObject): SignedText {
  const before: [string, Json][] = [];
  const after: [string, Json][] = [];
  for (const member of Object.entries(entry)) {
    if (member[0] < 'signature') before.push(member);
    else if (member[0] > 'signature') after.push(member);
  }
  const head = membersOf(before);
  const tail = membersOf(after);
  const signature = `"signature":${canonical(entry.signature ?? null)}`;
  return {
    // fromEntries defines members, so a member called __proto__ stays a member.
    statement: Object.fromEntries([...before, ...after]),
    message: `{${[head, tail].filter((part) => part !== '').join(',')}}`,
    text: `{${[head, signature, tail].filter((part) => part !== '').join(',')}}`,
  };
}

function membersOf(members: readonly (readonly [string, Json])[]): string {
  return canonical(Object.fromEntries(members)).slice(1, -1);
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
  const bytes = utf8(text);
  checkSize(bytes.length);
  if (!isJsonObject(value)) throw new LogError('json_invalid', 'entry is not an object');
  const signature = readSignature(value.signature);
  const signed = signedText(value);
  if (signed.text !== text) throw new LogError('entry_invalid', 'entry is not canonical');
  return {
    text,
    statement: signed.statement,
    message: utf8(signed.message),
    signature,
    leafHash: leafHash(suite, bytes),
  };
}

/** `entry_too_large` over 65,535 bytes. */
export function checkSize(bytes: number): void {
  if (bytes > MAX_ENTRY_BYTES) {
    throw new LogError(
      'entry_too_large',
      `entry is ${String(bytes)} bytes, the limit is ${String(MAX_ENTRY_BYTES)}`,
    );
  }
}

/** The 64 bytes of a `signature` member, else `encoding_invalid`. */
export function readSignature(value: Json | undefined): Uint8Array {
  if (typeof value !== 'string') throw new LogError('encoding_invalid', 'entry has no signature');
  return fromBase64(value, 64);
}
