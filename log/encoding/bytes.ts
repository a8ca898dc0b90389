// Byte strings: joined, compared, as integers and as text. log/FORMAT.md, Notation. Browser-safe.

import { LogError } from '../errors.ts';
import { cut } from './spelling.ts';

export { fromBase64, fromBase64Url, fromHex, toBase64, toBase64Url, toHex } from './spelling.ts';

declare global {
  interface String {
    /** ES2024; in every runtime that is supported, not yet in the library that the build names. */
    isWellFormed(): boolean;
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** One fresh array with the parts one after the other. */
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

/** Compares in time that depends on the length only, so that it also serves for secrets. */
export function equal(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= byteAt(a, i) ^ byteAt(b, i);
  return difference === 0;
}

/**
 * UTF-8; a lone surrogate is `encoding_invalid`, since the encoder would turn it into another string. The bytes may
 * be a view of a larger array that holds other texts.
 */
export function utf8(text: string): Uint8Array {
  if (!text.isWellFormed()) throw invalid('text has a lone surrogate');
  const bytes = cut(text.length);
  // What is not ASCII has more bytes than units.
  return encoder.encodeInto(text, bytes).read === text.length ? bytes : encoder.encode(text);
}

/** Text of well-formed UTF-8 without a byte order mark; else `encoding_invalid`. */
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

/** The big-endian u32 that stands first; missing bytes are 0. */
export function readU32(bytes: Uint8Array): number {
  let n = 0;
  for (let i = 0; i < 4; i++) n = n * 256 + byteAt(bytes, i);
  return n;
}

/** The big-endian u64 at an offset; missing bytes and values over 2^53 − 1 are `encoding_invalid`. */
export function readU64(bytes: Uint8Array, offset: number): number {
  if (offset < 0 || offset + 8 > bytes.length) throw invalid('a u64 needs 8 bytes');
  let n = 0;
  for (let i = offset; i < offset + 8; i++) n = n * 256 + byteAt(bytes, i);
  if (!Number.isSafeInteger(n)) throw invalid('a u64 is over 2^53 - 1');
  return n;
}

/** `first`, then for each text its u16 byte length and its UTF-8; over 65,535 bytes is `encoding_invalid`. */
export function lp(first: Uint8Array, ...texts: readonly string[]): Uint8Array {
  return lpOf(first, texts) ?? lpOf(first, texts.map(utf8))!;
}

/** Null where a text is not ASCII. The texts are mostly short names, and calling the encoder costs more than they. */
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
  // Division, not shifts: those keep 32 bits.
  for (let i = width - 1, rest = n; rest > 0; i--, rest = Math.floor(rest / 256)) {
    bytes[i] = rest % 256;
  }
  return bytes;
}

/** For the strict index checks of the compiler: callers stay within the array. */
function byteAt(bytes: Uint8Array, i: number): number {
  return bytes[i] ?? 0;
}

function invalid(message: string, options?: ErrorOptions): LogError {
  return new LogError('encoding_invalid', message, options);
}
