// The form of an absence document, and the question that it answers (log/FORMAT.md §6 and its step 0). At the end, the
// functions that read members of untrusted documents.

import { canonical } from '../encoding/canonical.ts';
import { parseJson, isJsonObject } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json.ts';
import { checkKey, sameKey } from '../map/key.ts';
import type { ChainKey } from '../types.ts';
import type { Trust } from './trust.ts';
import { fromBase64 } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';

/** A question: a chain and a window of log time, which includes both ends. */
export interface Question {
  readonly key: ChainKey;
  readonly from_ms: number;
  readonly to_ms: number;
  /**
   * For a further page: the index of the last entry on the previous page, which the first entry of this page links to.
   */
  readonly after?: number;
}

/** Limit on the lines of `does_not_assert`, which this verifier sets. */
const MAX_LINES = 100;
/** More than a full page of the largest entries with every character escaped once. */
const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;

const REQUIRED = ['schema', 'question', 'verdict', 'checkpoint', 'map_head', 'proof'];
const OPTIONAL = [
  'entries',
  'more',
  'declared',
  'coverage',
  'statement',
  'does_not_assert',
  'receipt',
];

/** Parses a document and checks which members it has. Throws `document_invalid` or `json_invalid`. */
export function readDocument(document: Json): JsonObject {
  // A parsed document is printed and parsed again, so that the rules of the strict parser hold for it too.
  const text = typeof document === 'string' ? document : canonical(document);
  const parsed = exactObject(
    parseJson(text, { maxBytes: MAX_DOCUMENT_BYTES }),
    'document',
    REQUIRED,
    OPTIONAL,
  );
  if (parsed.schema !== 'svc-absence-witness-v1') throw refused('schema is another one');
  if (parsed.statement !== undefined) string(parsed.statement, 'statement');
  if (parsed.does_not_assert !== undefined) {
    strings(parsed.does_not_assert, 'does_not_assert', MAX_LINES);
  }
  return parsed;
}

/** Checks a question: its key has the grammar of its kind, and its window does not end before it begins. */
export function checkQuestion(question: Question, { kinds }: Trust): Question {
  checkKey(question.key, kinds);
  if (question.after !== undefined) count(question.after, 'after');
  if (count(question.from_ms, 'from_ms') > count(question.to_ms, 'to_ms')) {
    throw refused('window is reversed');
  }
  return question;
}

/** Step 0: reads the question of a document. It is compared with the caller's question at the end. */
export const readQuestion = ({ question }: JsonObject, trust: Trust): Question =>
  checkQuestion(
    // checkQuestion checks the type of each member.
    exactObject(question, 'question', ['key', 'from_ms', 'to_ms']) as unknown as Question,
    trust,
  );

/** Whether `asked` is about the same chain as `own`, and about a window inside that of `own`. */
export const isInside = (asked: Question, own: Question): boolean =>
  sameKey(asked.key, own.key) && asked.from_ms >= own.from_ms && asked.to_ms <= own.to_ms;

// Strict reading of members of untrusted documents (log/FORMAT.md §6). Each function throws `document_invalid`.

/** A `document_invalid`. The message names the member. */
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

/** The longest inclusion path in a tree of at most 2^53 − 1 leaves (RFC 9162 §2.1.3). */
const MAX_PATH = 53;

/** The value as an inclusion path. Its hashes stay in base64; `climb` decodes them when it hashes them. */
export function path(value: Json | undefined, what: string): readonly string[] {
  return strings(value, what, MAX_PATH);
}
