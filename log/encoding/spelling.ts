// Hex, base64 and decimals, each with one accepted spelling (RFC 4648 §4 and §5; log/FORMAT.md, Notation). The input may
// be hostile: two texts for the same bytes would be two names for one thing. Browser-safe.

import { LogError } from '../errors.ts';

const HEX = '0123456789abcdef';
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const BASE64_URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const NOT_A_DIGIT = 255;
const PADDING = 0x3d;

const hexDigits = digitTable(HEX);
const base64Digits = digitTable(BASE64);
const base64UrlDigits = digitTable(BASE64_URL);
const hexPairs = Array.from({ length: 256 }, (_, n) => HEX.charAt(n >> 4) + HEX.charAt(n & 15));

/** Lower-case hex. */
export function toHex(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += hexPairs[byte] ?? '';
  return text;
}

/** Bytes of lower-case hex, exactly `length` of them when it is given; else `encoding_invalid`. */
export function fromHex(text: string, length?: number): Uint8Array {
  if (text.length % 2 !== 0) throw invalid('hex has an odd number of digits');
  const bytes = new Uint8Array(text.length / 2);
  checkLength(bytes.length, length, 'hex');
  let all = 0;
  for (let i = 0; i < bytes.length; i++) {
    const high = valueAt(hexDigits, text, 2 * i);
    const low = valueAt(hexDigits, text, 2 * i + 1);
    all |= high | low;
    bytes[i] = (high << 4) | low;
  }
  checkDigits(all);
  return bytes;
}

/** Base64 of RFC 4648 §4, padded. */
export function toBase64(bytes: Uint8Array): string {
  const text = encodeSextets(bytes, BASE64);
  return text.padEnd(Math.ceil(text.length / 4) * 4, '=');
}

/**
 * Bytes of padded base64 whose spare bits are zero, exactly `length` of them; else `encoding_invalid`. They are
 * written to `into`, which has that length, or stand in memory of their own.
 */
export function fromBase64(text: string, length?: number, into?: Uint8Array): Uint8Array {
  if (text.length % 4 !== 0) throw invalid('base64 is not padded to a multiple of 4');
  let digits = text.length;
  for (let i = 0; i < 2 && text.charCodeAt(digits - 1) === PADDING; i++) digits--;
  return decodeSextets(text, digits, base64Digits, length, into);
}

/** Base64url of RFC 4648 §5, unpadded. */
export function toBase64Url(bytes: Uint8Array): string {
  return encodeSextets(bytes, BASE64_URL);
}

/** Bytes of unpadded base64url whose spare bits are zero, exactly `length` of them; else `encoding_invalid`. */
export function fromBase64Url(text: string, length?: number): Uint8Array {
  if (text.length % 4 === 1) throw invalid('base64url has a digit left over');
  return decodeSextets(text, text.length, base64UrlDigits, length);
}

function encodeSextets(bytes: Uint8Array, alphabet: string): string {
  let text = '';
  for (let i = 0; i < bytes.length; i += 3) {
    const left = Math.min(3, bytes.length - i);
    const group = (byteAt(bytes, i) << 16) | (byteAt(bytes, i + 1) << 8) | byteAt(bytes, i + 2);
    text += alphabet.charAt(group >> 18) + alphabet.charAt((group >> 12) & 63);
    if (left > 1) text += alphabet.charAt((group >> 6) & 63);
    if (left > 2) text += alphabet.charAt(group & 63);
  }
  return text;
}

function decodeSextets(
  text: string,
  digits: number,
  table: Uint8Array,
  length?: number,
  into?: Uint8Array,
): Uint8Array {
  const size = Math.floor((digits * 3) / 4);
  checkLength(size, length, 'base64');
  const bytes = into ?? cut(size);
  let group = 0;
  let at = 0;
  let all = 0;
  for (let i = 0; i < digits; i += 4) {
    const a = valueAt(table, text, i);
    const b = valueAt(table, text, i + 1);
    const c = i + 2 < digits ? valueAt(table, text, i + 2) : 0;
    const d = i + 3 < digits ? valueAt(table, text, i + 3) : 0;
    all |= a | b | c | d;
    group = (a << 18) | (b << 12) | (c << 6) | d;
    // Beyond the end nothing is written.
    bytes[at++] = group >> 16;
    bytes[at++] = group >> 8;
    bytes[at++] = group;
  }
  checkDigits(all);
  const spare = 8 * (at - size);
  if ((group & ((1 << spare) - 1)) !== 0) throw invalid('base64 has spare bits that are not zero');
  return bytes;
}

function digitTable(alphabet: string): Uint8Array {
  const table = new Uint8Array(128).fill(NOT_A_DIGIT);
  for (let i = 0; i < alphabet.length; i++) table[alphabet.charCodeAt(i)] = i;
  return table;
}

function valueAt(table: Uint8Array, text: string, i: number): number {
  return table[text.charCodeAt(i)] ?? NOT_A_DIGIT;
}

/** Of all values at once: a digit's has six bits at most. */
function checkDigits(all: number): void {
  if (all > 63) throw invalid('text has a character that is no digit');
}

/** 0 beyond the end: the last group may be short. */
function byteAt(bytes: Uint8Array, i: number): number {
  return bytes[i] ?? 0;
}

function checkLength(size: number, length: number | undefined, what: string): void {
  if (length !== undefined && size !== length) {
    throw invalid(`${what} is ${String(size)} bytes, not ${String(length)}`);
  }
}

function invalid(message: string): LogError {
  return new LogError('encoding_invalid', message);
}

/** A decimal without sign or leading zeros, as a safe integer; null for every other text. */
export function parseDecimal(text: string): number | null {
  if (!/^(?:0|[1-9][0-9]{0,15})$/.test(text)) return null;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : null;
}

// Memory for bytes that are hashed or verified and then dropped. V8 allocates an array of over 64 bytes outside the heap,
// and moves one of 64 bytes, a signature, there when it is verified; that costs ten times as much as the use of it.

const ON_HEAP = 63;
const ROOM_BYTES = 16_384;
let room = new Uint8Array(0);
let taken = 0;

/** So many zero bytes that nobody else has; the array beneath them may hold more, and lives as long as they do. */
export function cut(length: number): Uint8Array {
  if (length <= ON_HEAP || 4 * length > ROOM_BYTES) return new Uint8Array(length);
  if (taken + length > room.length) {
    room = new Uint8Array(ROOM_BYTES);
    taken = 0;
  }
  return room.subarray(taken, (taken += length));
}
