// Hex and base64, one spelling each. RFC 4648 §4 and §5; formats.md, Notation. Browser-safe.
// What is decoded may be hostile: two texts for the same bytes would be two names for one thing.

import { LogError } from '../errors.ts';
import { cut } from './room.ts';

const HEX = '0123456789abcdef';
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const BASE64_URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const NOT_A_DIGIT = 255;

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
  checkLength(bytes, length, 'hex');
  for (let i = 0; i < bytes.length; i++) {
    bytes[i] = (digit(hexDigits, text, 2 * i) << 4) | digit(hexDigits, text, 2 * i + 1);
  }
  return bytes;
}

/** Base64 of RFC 4648 §4, padded. */
export function toBase64(bytes: Uint8Array): string {
  const text = encodeSextets(bytes, BASE64);
  return text.padEnd(Math.ceil(text.length / 4) * 4, '=');
}

/** Bytes of padded base64 whose spare bits are zero, exactly `length` of them; else `encoding_invalid`. */
export function fromBase64(text: string, length?: number): Uint8Array {
  if (text.length % 4 !== 0) throw invalid('base64 is not padded to a multiple of 4');
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return decodeSextets(text, text.length - padding, base64Digits, length);
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
  length: number | undefined,
): Uint8Array {
  const bytes = cut(Math.floor((digits * 3) / 4));
  checkLength(bytes, length, 'base64');
  let group = 0;
  let at = 0;
  for (let i = 0; i < digits; i += 4) {
    group =
      (digit(table, text, i) << 18) |
      (digit(table, text, i + 1) << 12) |
      (i + 2 < digits ? digit(table, text, i + 2) << 6 : 0) |
      (i + 3 < digits ? digit(table, text, i + 3) : 0);
    // Beyond the end nothing is written.
    bytes[at++] = group >> 16;
    bytes[at++] = group >> 8;
    bytes[at++] = group;
  }
  const spare = 8 * (at - bytes.length);
  if ((group & ((1 << spare) - 1)) !== 0) throw invalid('base64 has spare bits that are not zero');
  return bytes;
}

function digitTable(alphabet: string): Uint8Array {
  const table = new Uint8Array(128).fill(NOT_A_DIGIT);
  for (let i = 0; i < alphabet.length; i++) table[alphabet.charCodeAt(i)] = i;
  return table;
}

function digit(table: Uint8Array, text: string, i: number): number {
  const value = table[text.charCodeAt(i)] ?? NOT_A_DIGIT;
  if (value === NOT_A_DIGIT) throw invalid(`no digit at ${String(i)}`);
  return value;
}

/** 0 beyond the end: the last group may be short. */
function byteAt(bytes: Uint8Array, i: number): number {
  return bytes[i] ?? 0;
}

function checkLength(bytes: Uint8Array, length: number | undefined, what: string): void {
  if (length !== undefined && bytes.length !== length) {
    throw invalid(`${what} is ${String(bytes.length)} bytes, not ${String(length)}`);
  }
}

function invalid(message: string): LogError {
  return new LogError('encoding_invalid', message);
}
