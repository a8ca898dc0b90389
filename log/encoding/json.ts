// Strict JSON: I-JSON (RFC 7493) with integers only; log/FORMAT.md, Notation. Browser-safe.
// The grammar is that of the runtime's own parser. One scan before it refuses what that parser would
// take, and a count of members after it finds names that stood twice.

import { fromUtf8, utf8 } from './bytes.ts';
import type { Json, JsonObject } from './json-types.ts';
import { LogError } from '../errors.ts';

/** What a place accepts beyond the rules of the format. */
export interface JsonOptions {
  /**
   * Numbers of every spelling, as in committed values. Refused still: minus zero, what is beyond a
   * double, and plain integers that a double would change.
   */
  readonly fractions?: boolean;
  /** Deepest nesting, the outermost container being 1; 16 unless given. */
  readonly maxDepth?: number;
  /** Most bytes of UTF-8; no limit unless given. */
  readonly maxBytes?: number;
}

const MAX_DEPTH = 16;
/** The longest spelling, with its sign, that is a safe integer for certain. */
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

/** The value of a JSON text; whatever breaks a rule is `json_invalid`. `__proto__` is a name like any other. */
export function parseJson(text: string | Uint8Array, options: JsonOptions = {}): Json {
  const source = sourceOf(text, options.maxBytes ?? Infinity);
  const members = scan(source, options.maxDepth ?? MAX_DEPTH, options.fractions ?? false);
  let value: Json;
  try {
    value = JSON.parse(source) as Json;
  } catch (cause) {
    throw invalid('text is not json', { cause });
  }
  if (checkStrings(value) !== members) throw invalid('a member name stands twice in one object');
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
  // A byte order mark needs no rule here: outside a string the parser refuses it. So it does a lone surrogate, and
  // within one it is found in the value, unless an escape of its other half stands beside it.
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

/** Checks depth and numbers of a text that may not be JSON at all; answers how many colons stand outside strings. */
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

/** Index after the closing quote of the string whose first quote stands at `start`. */
function endOfString(text: string, start: number): number {
  let quote = start;
  do quote = text.indexOf('"', quote + 1);
  while (isEscaped(text, quote));
  return quote < 0 ? text.length : quote + 1;
}

/** Whether an odd number of backslashes stands before this place. */
function isEscaped(text: string, at: number): boolean {
  let i = at;
  while (text.charCodeAt(i - 1) === BACKSLASH) i--;
  return (at - i) % 2 === 1;
}

/** Index after the number. */
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
  if (Number.isNaN(value)) return; // no number, as the parser will say
  if (Object.is(value, -0)) throw invalid('a number is minus zero');
  if (plain && !Number.isSafeInteger(value) && !(fractions && String(value) === spelling)) {
    throw invalid('an integer is not between -(2^53 - 1) and 2^53 - 1');
  }
  if (value === Infinity || value === -Infinity) throw invalid('a number is too large');
}

/** Members of all objects in the value, which is as deep as the scan allowed; no string has a lone surrogate. */
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
