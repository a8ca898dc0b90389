// Canonical JSON: RFC 8785 through `canonicalize`, guarded, since it prints what is no JSON (functions,
// holes, undefined) and overflows the stack on deep values. Browser-safe.

import canonicalize from 'canonicalize';

import type { Json, JsonObject } from './json-types.ts';
import { LogError } from '../errors.ts';

const MAX_DEPTH = 64;

/**
 * The one text of a value: members sorted by UTF-16 units, shortest numbers (minus zero prints as 0).
 * What is no JSON value, has a lone surrogate or nests deeper than 64 levels is `json_invalid`.
 */
export function canonical(value: Json): string {
  check(value, 0);
  const text = canonicalize(value);
  if (text === undefined) throw invalid('a value is not json');
  return text;
}

/**
 * True when `text`, which `parseJson` read as this value, is its canonical text and `JSON.stringify` prints
 * that of the value and of whatever is left of it without some members. That is many times faster than
 * `canonical`, and says no only to names that look like array indexes, which the runtime puts first.
 */
export function printsCanonically(value: Json, text: string): boolean {
  return JSON.stringify(value) === text && isSorted(value);
}

function isSorted(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return (value as readonly Json[]).every(isSorted);
  const object = value as JsonObject;
  let before: string | null = null;
  for (const name of Object.keys(object)) {
    if ((before !== null && name < before) || !isSorted(object[name] ?? null)) return false;
    before = name;
  }
  return true;
}

/** The type says Json, but values come from plugins and from parsers of others. */
function check(value: unknown, depth: number): void {
  switch (typeof value) {
    case 'boolean':
      return;
    case 'string':
      checkText(value);
      return;
    case 'number':
      if (!Number.isFinite(value)) throw invalid('a number is not finite');
      return;
    case 'object':
      if (value !== null) checkContainer(value, depth + 1);
      return;
    default:
      throw invalid(`a value is of type ${typeof value}`);
  }
}

function checkContainer(value: object, depth: number): void {
  if (depth > MAX_DEPTH) throw invalid(`nesting is over ${String(MAX_DEPTH)} levels`);
  if (Array.isArray(value)) {
    // Not forEach or every: those skip the holes that are looked for.
    for (const element of value) check(element, depth);
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw invalid('an object is not a plain one');
  }
  for (const name of Object.keys(value)) {
    checkText(name);
    check((value as Record<string, unknown>)[name], depth);
  }
}

function checkText(text: string): void {
  if (!text.isWellFormed()) throw invalid('text has a lone surrogate');
}

function invalid(message: string): LogError {
  return new LogError('json_invalid', message);
}
