// The strict JSON parser: I-JSON (RFC 7493) with integers only (log/FORMAT.md, Notation). Browser-safe.
//
// JSON.parse does the parsing. A scan before it refuses texts that JSON.parse would accept, and counts the members; if
// the parsed value has fewer of them, a name occurred twice in one object.

import { fromUtf8, utf8 } from './bytes.ts';
import { LogError } from '../errors.ts';

/** A JSON value. In statements and proofs, all numbers are safe integers. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [member: string]: Json;
}

/** Which texts are accepted in addition to those of the format, and limits. */
export interface JsonOptions {
  /**
   * Accepts numbers with fractions and exponents, as in committed values. Minus zero, numbers that exceed a double, and
   * integers that a double cannot represent are still refused.
   */
  readonly fractions?: boolean;
  /** Limit on the nesting of containers; the outermost one counts as 1. Default: 16. */
  readonly maxDepth?: number;
  /** Limit on the length in bytes of UTF-8. Default: none. */
  readonly maxBytes?: number;
}

const MAX_DEPTH = 16;
/** A number of at most this many characters, its sign included, is always a safe integer. */
const SHORT_INTEGER = 15;

const QUOTE = 0x22;
const COMMA = 0x2c;
const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const LOWER_E = 0x65;

/** Parses a JSON text. Throws `json_invalid` if it breaks a rule. A member `__proto__` is an ordinary member. */
export function parseJson(text: string | Uint8Array, options: JsonOptions = {}): Json {
  const source = sourceOf(text, options.maxBytes ?? Infinity);
  const members = scan(source, options.maxDepth ?? MAX_DEPTH, options.fractions ?? false);
  let value: Json;
  try {
    value = JSON.parse(source) as Json;
  } catch (cause) {
    throw invalid('text is not json', { cause });
  }
  if (checkStrings(value) !== members) throw invalid('one object has a member name twice');
  return value;
}

/** True for an object, false for null and arrays. */
export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sourceOf(text: string | Uint8Array, maxBytes: number): string {
  if (typeof text !== 'string') {
    checkBytes(text.length, maxBytes);
    try {
      return fromUtf8(text);
    } catch (cause) {
      throw invalid('text is not utf-8 without a byte order mark', { cause });
    }
  }
  // JSON.parse refuses a byte order mark and a lone surrogate outside strings. A lone surrogate in a string is found in
  // the parsed value, unless an escaped one next to it completes the pair; so a text with \u escapes is checked here.
  const long = text.length * 3 > maxBytes;
  if (long || text.includes('\\u')) checkText(text);
  if (long) {
    checkBytes(text.length > maxBytes ? text.length : utf8(text).length, maxBytes);
  }
  return text;
}

function checkBytes(length: number, maxBytes: number): void {
  if (length > maxBytes) {
    throw invalid(`text is ${String(length)} bytes, the limit is ${String(maxBytes)}`);
  }
}

/**
 * Checks the nesting and the numbers of a text, which need not be JSON. Returns the number of colons outside strings,
 * which is the number of members.
 */
function scan(text: string, maxDepth: number, fractions: boolean): number {
  let depth = 0;
  let members = 0;
  let i = 0;
  while (i < text.length) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      i = endOfString(text, i);
    } else if (code === MINUS || (code >= DIGIT_0 && code <= DIGIT_9)) {
      i = endOfNumber(text, i, fractions);
    } else {
      i++;
      if (code === COMMA) continue;
      if (code === COLON) {
        members++;
        // { and } are [ and ] with this bit set.
      } else if ((code | 0x20) === 0x7b) {
        depth++;
        if (depth > maxDepth) throw invalid(`nesting is over ${String(maxDepth)} levels`);
      } else if ((code | 0x20) === 0x7d) {
        depth--;
      }
    }
  }
  return members;
}

/** The index after the closing quote of the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let quote = start;
  do quote = text.indexOf('"', quote + 1);
  while (isEscaped(text, quote));
  return quote < 0 ? text.length : quote + 1;
}

/** Whether the character at an index is escaped: an odd number of backslashes precedes it. */
function isEscaped(text: string, at: number): boolean {
  let i = at;
  while (text.charCodeAt(i - 1) === BACKSLASH) i--;
  return (at - i) % 2 === 1;
}

/** Checks the number that begins at `start`, and returns the index after it. */
function endOfNumber(text: string, start: number, fractions: boolean): number {
  let i = start + 1;
  let plain = true;
  for (; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= DIGIT_0 && code <= DIGIT_9) continue;
    if (code === DOT || (code | 0x20) === LOWER_E) plain = false;
    else if (code !== MINUS && code !== PLUS) break;
  }
  const long = i - start > SHORT_INTEGER;
  const negative = text.charCodeAt(start) === MINUS;
  if (!plain && !fractions) throw invalid('a number is written with a fraction or an exponent');
  if (!plain || long || negative) checkNumber(text.slice(start, i), plain, fractions);
  return i;
}

function checkNumber(spelling: string, plain: boolean, fractions: boolean): void {
  const value = Number(spelling);
  if (Number.isNaN(value)) return; // not a number: JSON.parse refuses it
  if (Object.is(value, -0)) throw invalid('a number is minus zero');
  if (plain && !Number.isSafeInteger(value) && !(fractions && String(value) === spelling)) {
    throw invalid('an integer is not between -(2^53 - 1) and 2^53 - 1');
  }
  if (value === Infinity || value === -Infinity) throw invalid('a number is too large');
}

/** Counts the members of all objects in a value; throws for a string with a lone surrogate. */
function checkStrings(value: Json): number {
  if (typeof value === 'string') checkText(value);
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const element of value as readonly Json[]) count += checkStrings(element);
    return count;
  }
  const object = value as JsonObject;
  for (const name of Object.keys(object)) {
    checkText(name);
    count += 1 + checkStrings(object[name] ?? null);
  }
  return count;
}

function checkText(text: string): void {
  if (!text.isWellFormed()) throw invalid('text has a lone surrogate');
}

function invalid(message: string, options?: ErrorOptions): LogError {
  return new LogError('json_invalid', message, options);
}
