// Absence documents for forged logs, and what a verifier proves from them.

import assert from 'node:assert/strict';
import { native } from '../../log/crypto/native.ts';
import type { Json, JsonObject } from '../../log/encoding/json.ts';
import { formatVkey } from '../../log/note/note.ts';
import { LogError, verifyAbsence } from '../../log/verify.ts';
import type { AbsenceResult, Question, Trust } from '../../log/verify.ts';
import { CHECKPOINT_KEY, ENTITY, RECEIPT_KEY, START_MS } from './forge.ts';
import type { Forge } from './forge.ts';

/** The surface of the usual act of the forge. */
export const SURFACE = ['surface', ENTITY, 'policy_bind'];
/** The chain of the manifests of its entity. */
export const MANIFEST = ['manifest', ENTITY];

/** Trust in the log of the forge, without a witness policy. */
export const trust: Trust = {
  origin: 'log.example/log/live/1',
  vkey: formatVkey(native, 'log.example/log/live/1', 1, CHECKPOINT_KEY.publicKey),
  keys: [{ kid: RECEIPT_KEY.kid, jwk: RECEIPT_KEY.jwk }],
};

/** A predicate for assert.throws: the document is refused for a reason that matches. */
export const refusal =
  (pattern: RegExp) =>
  (error: unknown): boolean =>
    error instanceof LogError && error.code === 'document_invalid' && pattern.test(error.message);

/** The question of a document, as a caller would ask it. */
export const questionOf = (document: JsonObject): Question =>
  document['question'] as unknown as Question;

/** A document about a forged log in its present state, with the map proof of the log unless another is given. */
export function documentOf(
  log: Forge,
  question: Question,
  change: Readonly<Record<string, Json>>,
): JsonObject {
  return {
    schema: 'svc-absence-witness-v1',
    question: question as unknown as JsonObject,
    checkpoint: log.note(),
    map_head: log.opened(log.size - 1),
    proof: log.mapProof(question.key),
    ...change,
  };
}

/** The result of a document, long after the log was written. */
export function check(
  document: JsonObject,
  change: Partial<Trust> = {},
  now_ms = START_MS + 1e9,
): AbsenceResult {
  return checkAsked(document, questionOf(document), change, now_ms);
}

/** The result of a document for another question of the caller. */
export function checkAsked(
  document: JsonObject,
  question: Question,
  change: Partial<Trust> = {},
  now_ms = START_MS + 1e9,
): AbsenceResult {
  return verifyAbsence(document, question, { ...trust, ...change }, { suite: native, now_ms });
}

/** Asserts that the document is refused for this reason. */
export function refuses(document: JsonObject, pattern: RegExp, change: Partial<Trust> = {}): void {
  assert.throws(() => check(document, change), refusal(pattern));
}
