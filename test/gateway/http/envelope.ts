// The error envelope as tests check it. gateway/API.md §4.1.

import assert from 'node:assert/strict';
import type { Answer } from '../running.ts';

const TYPES = ['invalid_request_error', 'authentication_error', 'rate_limit_error', 'api_error'];

/** Checks status and envelope of an answer and gives its code. */
export function codeOf(answer: Answer, status: number): string {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
  const { error } = answer.json;
  assert.ok(TYPES.includes(error.type));
  assert.equal(typeof error.message, 'string');
  assert.match(error.request_id, /^req_[0-9A-Za-z]{24}$/);
  assert.equal(answer.headers.get('x-request-id'), error.request_id);
  return error.code as string;
}
