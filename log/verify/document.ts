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

/** A question whose key has the grammar of its kind, and whose window does not end before it begins. */
export function checkQuestion(question: Question, { kinds }: Trust): Question {
  checkKey(question.key, kinds);
  if (question.after !== undefined) count(question.after, 'after');
  if (count(question.from_ms, 'from_ms') > count(question.to_ms, 'to_ms')) {
    throw refused('window is reversed');
  }
  return question;
}

/** Step 0: the question of a document, which it is checked against before it is compared with that of the caller. */
export const readQuestion = ({ question }: JsonObject, trust: Trust): Question =>
  checkQuestion(
    // checkQuestion checks the type of each member.
    exactObject(question, 'question', ['key', 'from_ms', 'to_ms']) as unknown as Question,
    trust,
  );

/** Whether `asked` is about the same chain as `own`, and about a window inside that of `own`. */
export const isInside = (asked: Question, own: Question): boolean =>
  sameKey(asked.key, own.key) && asked.from_ms >= own.from_ms && asked.to_ms <= own.to_ms;
