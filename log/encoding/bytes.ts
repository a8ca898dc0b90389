// Byte arrays: concatenation, comparison, and encoding of integers, text, hex and base64 (log/FORMAT.md, Notation).
// Browser-safe.

import { LogError } from '../errors.ts';

declare global {
  interface String {
    /** ES2024. All supported runtimes have it; the TypeScript library that the build uses does not declare it. */
    isWellFormed(): boolean;
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Concatenates the parts in a new array. */
export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Whether two arrays have the same bytes. The running time depends on the lengths only, so it may compare secrets. */
export function equal(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= byteAt(a, i) ^ byteAt(b, i);
  return difference === 0;
}

/**
 * The UTF-8 bytes of a text, which may be a view of a larger buffer. Throws `encoding_invalid` for a lone surrogate,
 * which the encoder would replace.
 */
export function utf8(text: string): Uint8Array {
  if (!text.isWellFormed()) throw invalid('text has a lone surrogate');
  const bytes = cut(text.length);
  // A text that is not ASCII has more bytes than UTF-16 units, and does not fit.
  return encoder.encodeInto(text, bytes).read === text.length ? bytes : encoder.encode(text);
}

/** Decodes UTF-8. Throws `encoding_invalid` if it is malformed or begins with a byte order mark. */
export function fromUtf8(bytes: Uint8Array): string {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch (cause) {
    throw invalid('bytes are not UTF-8', { cause });
  }
  if (text.charCodeAt(0) === 0xfeff) throw invalid('text begins with a byte order mark');
  return text;
}

/** One byte. */
export function u8(n: number): Uint8Array {
  return bigEndian(n, 1, 0xff);
}

/** Two bytes, big-endian. */
export function u16(n: number): Uint8Array {
  return bigEndian(n, 2, 0xffff);
}

/** Four bytes, big-endian. */
export function u32(n: number): Uint8Array {
  return bigEndian(n, 4, 0xffffffff);
}

/** Eight bytes, big-endian, of a safe integer. */
export function u64(n: number): Uint8Array {
  return bigEndian(n, 8, Number.MAX_SAFE_INTEGER);
}

/** The first four bytes as a big-endian u32. Missing bytes count as 0. */
export function readU32(bytes: Uint8Array): number {
  let n = 0;
  for (let i = 0; i < 4; i++) n = n * 256 + byteAt(bytes, i);
  return n;
}

/** The big-endian u64 at an offset. Throws `encoding_invalid` for missing bytes and for values over 2^53 − 1. */
export function readU64(bytes: Uint8Array, offset: number): number {
  if (offset < 0 || offset + 8 > bytes.length) throw invalid('a u64 needs 8 bytes');
  let n = 0;
  for (let i = offset; i < offset + 8; i++) n = n * 256 + byteAt(bytes, i);
  if (!Number.isSafeInteger(n)) throw invalid('a u64 is over 2^53 - 1');
  return n;
}

/**
 * `first`, then for each text its length in bytes as u16 and its UTF-8. Throws `encoding_invalid` over 65,535 bytes.
 */
export function lp(first: Uint8Array, ...texts: readonly string[]): Uint8Array {
  return lpOf(first, texts) ?? lpOf(first, texts.map(utf8))!;
}

/** `lp` without the text encoder, whose call costs more than copying a short name; null if a text is not ASCII. */
function lpOf(first: Uint8Array, texts: readonly (string | Uint8Array)[]): Uint8Array | null {
  let at = first.length;
  const bytes = cut(texts.reduce((sum, { length }) => sum + 2 + length, at));
  bytes.set(first);
  for (const text of texts) {
    const { length } = text;
    if (length > 0xffff) throw invalid('text is over 65,535 bytes');
    bytes[at++] = length >> 8;
    bytes[at++] = length;
    if (typeof text !== 'string') {
      bytes.set(text, at);
      at += length;
      continue;
    }
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      if (unit > 0x7f) return null;
      bytes[at++] = unit;
    }
  }
  return bytes;
}

function bigEndian(n: number, width: number, max: number): Uint8Array {
  if (!Number.isInteger(n) || n < 0 || n > max) {
    throw invalid(`${String(n)} is not an integer from 0 to ${String(max)}`);
  }
  const bytes = new Uint8Array(width);
  // Divides, because shifts work on 32 bits only.
  for (let i = width - 1, rest = n; rest > 0; i--, rest = Math.floor(rest / 256)) {
    bytes[i] = rest % 256;
  }
  return bytes;
}

/** The byte at an index; 0 beyond the end, for the last group of base64. */
function byteAt(bytes: Uint8Array, i: number): number {
  return bytes[i] ?? 0;
}

function invalid(message: string, options?: ErrorOptions): LogError {
  return new LogError('encoding_invalid', message, options);
}

// Hex, base64 and decimals, with exactly one accepted text for each value (RFC 4648 §4 and §5; log/FORMAT.md,
// Notation). Otherwise an attacker could write one hash or key in two ways that compare as different.

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

/** Decodes lower-case hex. Throws `encoding_invalid` for anything else, or if `length` is given and differs. */
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
 * Decodes padded base64. Throws `encoding_invalid` if it is malformed, if surplus bits are not zero, or if `length` is
 * given and differs. The bytes are written to `into`, which must have that length, or to a new array.
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

/** Decodes unpadded base64url. Throws `encoding_invalid` as `fromBase64` does. */
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
    // A typed array ignores writes beyond its end.
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

/** Checks the OR of all digit values: each has at most six bits, and NOT_A_DIGIT has more. */
function checkDigits(all: number): void {
  if (all > 63) throw invalid('text has a character that is not a digit');
}

function checkLength(size: number, length: number | undefined, what: string): void {
  if (length !== undefined && size !== length) {
    throw invalid(`${what} is ${String(size)} bytes, not ${String(length)}`);
  }
}

/** The value of a decimal without sign or leading zeros, up to 2^53 − 1; null for any other text. */
export function parseDecimal(text: string): number | null {
  if (!/^(?:0|[1-9][0-9]{0,15})$/.test(text)) return null;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : null;
}

// Memory for arrays that are hashed or verified and then discarded. V8 allocates an array of over 64 bytes outside the
// heap, and moves an array of 64 bytes, such as a signature, there when OpenSSL reads it. Either costs ten times as
// much as the use of the array, so short arrays are views of one larger buffer.

const ON_HEAP = 63;
const ROOM_BYTES = 16_384;
let room = new Uint8Array(0);
let taken = 0;

/**
 * Allocates `length` zero bytes. They may be a view of a larger buffer, which stays in memory as long as the view does.
 */
export function cut(length: number): Uint8Array {
  if (length <= ON_HEAP || 4 * length > ROOM_BYTES) return new Uint8Array(length);
  if (taken + length > room.length) {
    room = new Uint8Array(ROOM_BYTES);
    taken = 0;
  }
  return room.subarray(taken, (taken += length));
}
