// Strict reading of foreign documents: exact members, integers, lists (log/FORMAT.md §6).
// Everything that comes in here was chosen by whoever wants to be believed.

import { fromBase64 } from '../encoding/bytes.ts';
import { isJsonObject } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json-types.ts';
import { LogError } from '../errors.ts';

/** A `document_invalid` with the member it is about. */
export function refused(message: string, cause?: unknown): LogError {
  return new LogError('document_invalid', message, cause === undefined ? undefined : { cause });
}

/** The value as an object that has all of `required`, perhaps some of `optional`, and nothing else. */
export function exactObject(
  value: Json | undefined,
  what: string,
  required: readonly string[],
  optional: readonly string[] = [],
): JsonObject {
  if (!isJsonObject(value)) throw refused(`${what} is not an object`);
  for (const name of required) {
    if (!Object.hasOwn(value, name)) throw refused(`${what} has no ${name}`);
  }
  for (const name of Object.keys(value)) {
    if (!required.includes(name) && !optional.includes(name)) {
      throw refused(`${what} has a member it may not have`);
    }
  }
  return value;
}

/** The value as an integer from 0 to 2^53 − 1. */
export function count(value: Json | undefined, what: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw refused(`${what} is not an integer from 0 to 2^53 - 1`);
  }
  return value;
}

/** The value as a string. */
export function string(value: Json | undefined, what: string): string {
  if (typeof value !== 'string') throw refused(`${what} is not a string`);
  return value;
}

/** The value as a list of at most `limit` values. */
export function list(value: Json | undefined, what: string, limit: number): readonly Json[] {
  if (!Array.isArray(value)) throw refused(`${what} is not a list`);
  if (value.length > limit) throw refused(`${what} has over ${String(limit)} values`);
  return value as readonly Json[];
}

/** The value as a list of at most `limit` strings. */
export function strings(value: Json | undefined, what: string, limit: number): readonly string[] {
  const texts = list(value, what, limit);
  for (const text of texts) string(text, what);
  return texts as readonly string[];
}

/** The value as 32 bytes in base64. */
export function hash(value: Json | undefined, what: string): Uint8Array {
  try {
    return fromBase64(string(value, what), 32);
  } catch (cause) {
    throw refused(`${what} is not 32 bytes in base64`, cause);
  }
}

/** Longest path of a tree whose size is a safe integer (RFC 9162 §2.1.3). */
const MAX_PATH = 53;

/** An inclusion path: texts, leaf side first, which are decoded only where they are hashed. */
export function path(value: Json | undefined, what: string): readonly string[] {
  return strings(value, what, MAX_PATH);
}
