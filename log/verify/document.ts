// The form of an absence document and the question it must answer. log/FORMAT.md §6 and its step 0.

import { canonical } from '../encoding/canonical.ts';
import { parseJson } from '../encoding/json.ts';
import type { Json, JsonObject } from '../encoding/json-types.ts';
import { checkKey, sameKey } from '../map/key.ts';
import type { ChainKey } from '../types.ts';
import { count, exactObject, refused, string, strings } from './shape.ts';
import type { Trust } from './trust.ts';

/** What is asked: a chain and a window of log time, closed at both ends. */
export interface Question {
  readonly key: ChainKey;
  readonly from_ms: number;
  readonly to_ms: number;
  /** Of a further page: index of the last entry on the page before, which the page's first names. */
  readonly after?: number;
}

/** Most lines of `does_not_assert`: a limit of this verifier. */
const MAX_LINES = 100;
/** A full page of the largest entries with every character escaped once, and room for the rest. */
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

/** The members of a document, each where it may stand; `document_invalid` or `json_invalid`. */
export function readDocument(document: Json): JsonObject {
  // A parsed document passes the same strict parser: what is no I-JSON has no canonical text either.
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

/** Step 0: the question is well formed, and the document's is the same. */
export function checkQuestion(document: JsonObject, question: Question, trust: Trust): void {
  const key = checkKey(question.key, trust.kinds);
  const from_ms = count(question.from_ms, 'from_ms');
  const to_ms = count(question.to_ms, 'to_ms');
  if (question.after !== undefined) count(question.after, 'after');
  if (from_ms > to_ms) throw refused('window ends before it begins');
  const asked = exactObject(document.question, 'question', ['key', 'from_ms', 'to_ms']);
  const same =
    asked.from_ms === from_ms &&
    asked.to_ms === to_ms &&
    Array.isArray(asked.key) &&
    sameKey(asked.key as ChainKey, key);
  if (!same) throw refused('document answers another question');
}
