// Canonical JSON: RFC 8785 (JCS) with the package `canonicalize`. Values are checked first, because that package prints
// values that are not JSON (functions, holes, undefined) and overflows the stack on deep ones. Browser-safe.

import canonicalize from 'canonicalize';
import type { Json } from './json.ts';
import { LogError } from '../errors.ts';

const MAX_DEPTH = 64;

/**
 * The canonical text of a value: members sorted by UTF-16 units, numbers in their shortest form, minus zero as 0.
 *
 * @throws LogError `json_invalid` for a value that is not JSON, has a lone surrogate or is nested over 64 levels
 */
export function canonical(value: Json): string {
  // If all members are in order, JSON.stringify prints the same text in a third of the time.
  return check(value, 0) ? JSON.stringify(value) : (canonicalize(value) ?? '');
}

/** A text without escapes and white space. Only the order of its members can differ from the canonical text. */
const PLAIN = /^[^\\\s]*$/;

/**
 * Whether a text is the canonical text of its value. `parseJson` must have parsed it without the option `fractions`.
 *
 * @throws LogError `json_invalid` as `canonical` does
 */
export function isCanonical(text: string, value: Json): boolean {
  return (PLAIN.test(text) && check(value, 0)) || canonical(value) === text;
}

/**
 * Throws for a value that is not JSON; true if all members are in canonical order. The value is untyped, because it may
 * come from a plugin.
 */
function check(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case 'boolean':
      return true;
    case 'string':
      checkText(value);
      return true;
    case 'number':
      if (!Number.isFinite(value)) throw invalid('a number is not finite');
      return true;
    case 'object':
      return value === null || checkContainer(value, depth + 1);
    default:
      throw invalid(`a value is of type ${typeof value}`);
  }
}

function checkContainer(value: object, depth: number): boolean {
  if (depth > MAX_DEPTH) throw invalid(`nesting is over ${String(MAX_DEPTH)} levels`);
  let sorted = true;
  if (Array.isArray(value)) {
    // A loop, because forEach and every skip holes, which must be found.
    for (const element of value) sorted = check(element, depth) && sorted;
    return sorted;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw invalid('an object is not a plain one');
  }
  // JavaScript lists names that are integers first, so the order of such members is unknown: they count as not sorted.
  let before = ':';
  for (const name of Object.keys(value)) {
    checkText(name);
    if (name < before) sorted = false;
    before = name;
    sorted = check((value as Record<string, unknown>)[name], depth) && sorted;
  }
  return sorted;
}

function checkText(text: string): void {
  if (!text.isWellFormed()) throw invalid('text has a lone surrogate');
}

function invalid(message: string): LogError {
  return new LogError('json_invalid', message);
}

// A cache of member names as JSON text, because the same few names are written in every entry and every answer.

const known = new Map<string, string>();
/** Limit of the cache: a schema may allow any member name. */
const MOST_KNOWN = 4096;

/** A member's name in JSON, with the colon. */
export function memberName(name: string): string {
  const printed = known.get(name);
  if (printed !== undefined) return printed;
  const prefix = `${JSON.stringify(name)}:`;
  if (known.size < MOST_KNOWN) known.set(name, prefix);
  return prefix;
}
