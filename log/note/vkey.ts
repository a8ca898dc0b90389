// Verifier keys `<name>+<8 hex key id>+<base64(type ‖ public key)>`. C2SP signed-note.

import { concat, fromBase64, readU32, toBase64, u8, utf8 } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import type { Suite } from '../crypto/suite.ts';

/** An Ed25519 signature of the note text (type 0x01), or a cosignature/v1 with a time (0x04). */
export type KeyType = 1 | 4;

/** Type of a log's checkpoint key. */
export const LOG_KEY = 1;
/** Type of a witness's or monitor's key. */
export const COSIGNER_KEY = 4;

/** A key that notes are opened with; a signature line belongs to it by name and key id. */
export interface Verifier {
  readonly name: string;
  /** First four bytes, big-endian, of SHA-256(name ‖ LF ‖ type ‖ public key). */
  readonly key_id: number;
  readonly type: KeyType;
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
}

const MAX_VKEY_LENGTH = 1024;
// U+0000 to U+001F may stand nowhere in a note, lone surrogates have no UTF-8.
const NOT_IN_NAMES = /[^ -\u{10ffff}]|[\p{White_Space}\p{Surrogate}+]/u;

/** True for what may name a key: not empty, no Unicode space, no plus sign, no control character. */
export function isKeyName(name: string): boolean {
  return name !== '' && !NOT_IN_NAMES.test(name);
}

/** The key id that a signature line carries. */
export function keyId(suite: Suite, name: string, type: KeyType, publicKey: Uint8Array): number {
  return readU32(suite.sha256(concat(utf8(`${name}\n`), Uint8Array.of(type), publicKey)));
}

/** A verifier of its parts; `key_invalid` for a name or a key that does not fit. */
export function makeVerifier(
  suite: Suite,
  name: string,
  type: KeyType,
  publicKey: Uint8Array,
): Verifier {
  if (!isKeyName(name)) throw new LogError('key_invalid', 'key name is empty or has a space or +');
  if (publicKey.length !== 32) {
    throw new LogError('key_invalid', `public key is ${String(publicKey.length)} bytes, not 32`);
  }
  return { name, key_id: keyId(suite, name, type, publicKey), type, publicKey };
}

/** The text of a verifier key. */
export function formatVkey(
  suite: Suite,
  name: string,
  type: KeyType,
  publicKey: Uint8Array,
): string {
  const { key_id } = makeVerifier(suite, name, type, publicKey);
  return `${name}+${formatKeyId(key_id)}+${toBase64(concat(u8(type), publicKey))}`;
}

/**
 * Reads a verifier key of type 0x01 or 0x04, the two that format 1 knows.
 *
 * @throws LogError `key_invalid`, also when the key id is not that of name and key.
 */
export function parseVkey(suite: Suite, text: string): Verifier {
  if (text.length > MAX_VKEY_LENGTH) {
    throw new LogError('key_invalid', `vkey is over ${String(MAX_VKEY_LENGTH)} characters`);
  }
  // The first two plus signs only: base64 has its own.
  const first = text.indexOf('+');
  const second = text.indexOf('+', first + 1);
  if (first < 0 || second < 0) throw new LogError('key_invalid', 'vkey has not three parts');
  const key = decodeKey(text.slice(second + 1));
  const [type] = key;
  if (type !== LOG_KEY && type !== COSIGNER_KEY) {
    throw new LogError('key_invalid', `vkey has type ${String(type)}, known are 1 and 4`);
  }
  const verifier = makeVerifier(suite, text.slice(0, first), type, key.slice(1));
  if (text.slice(first + 1, second) !== formatKeyId(verifier.key_id)) {
    throw new LogError('key_invalid', 'vkey has the key id of another name or key');
  }
  return verifier;
}

/** The last text that was read: whoever opens many notes opens them with one key. */
let last: { readonly text: string; readonly verifier: Verifier } | undefined;

/** A verifier, given as such or as its text. */
export function asVerifier(suite: Suite, key: string | Verifier): Verifier {
  if (typeof key !== 'string') return key;
  if (last?.text !== key) last = { text: key, verifier: parseVkey(suite, key) };
  return last.verifier;
}

function formatKeyId(key_id: number): string {
  return key_id.toString(16).padStart(8, '0');
}

function decodeKey(text: string): Uint8Array {
  try {
    return fromBase64(text);
  } catch (cause) {
    throw new LogError('key_invalid', 'vkey does not end in base64', { cause });
  }
}
