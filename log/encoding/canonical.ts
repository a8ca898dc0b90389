// Canonical JSON: RFC 8785 through `canonicalize`, guarded, since it prints what is no JSON (functions,
// holes, undefined) and overflows the stack on deep values. Browser-safe.

import canonicalize from 'canonicalize';
import type { Json } from './json-types.ts';
import { LogError } from '../errors.ts';

const MAX_DEPTH = 64;

/**
 * The one text of a value: members sorted by UTF-16 units, shortest numbers (minus zero prints as 0).
 * What is no JSON value, has a lone surrogate or nests deeper than 64 levels is `json_invalid`.
 */
export function canonical(value: Json): string {
  // What stands in its order already is printed by the runtime alike, at a third of the price.
  return check(value, 0) ? JSON.stringify(value) : (canonicalize(value) ?? '');
}

/** No escape and no white space: nothing that JSON has two spellings for but the order of members. */
const PLAIN = /^[^\\\s]*$/;

/**
 * Whether a text that `parseJson` read, without fractions, is the canonical text of the value it gave.
 *
 * @throws LogError `json_invalid` as `canonical` does
 */
export function isCanonical(text: string, value: Json): boolean {
  return (PLAIN.test(text) && check(value, 0)) || canonical(value) === text;
}

/**
 * Refuses what is no JSON; true where all members stand in their order. The type says Json, but values come
 * from plugins and from parsers of others.
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
    // Not forEach or every: those skip the holes that are looked for.
    for (const element of value) sorted = check(element, depth) && sorted;
    return sorted;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw invalid('an object is not a plain one');
  }
  // Names of digits come first whatever their place in the text was: with them the order says nothing.
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

// Names of members as JSON text, cached: the same few are written for every entry and every answer.

const known = new Map<string, string>();
/** Names come from schemas, and a schema may let any through. */
const MOST_KNOWN = 4096;

/** A member's name in JSON, with the colon. */
export function memberName(name: string): string {
  const printed = known.get(name);
  if (printed !== undefined) return printed;
  const prefix = `${JSON.stringify(name)}:`;
  if (known.size < MOST_KNOWN) known.set(name, prefix);
  return prefix;
}
