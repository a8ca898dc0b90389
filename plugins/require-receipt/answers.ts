// The answers that end a guarded request: challenge, replay, and unavailable. Runs in every JavaScript runtime.
// gateway/API.md §4.1, §8.2.

import type { JsonObject } from '../../log/verify.ts';
import { challengeHeaders, PROOF_HEADER, requiredOf } from './challenge.ts';
import type { Challenge } from './challenge.ts';

/** An answer that ends the request. */
export interface GuardAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}

/** 428: there is no receipt, or not one that permits this. */
export function challenged(
  challenge: Challenge,
  message = 'this act needs a receipt of the gate',
): GuardAnswer {
  const error = { code: 'receipt_required', message, param: PROOF_HEADER };
  return answer(428, error, challengeHeaders(challenge), { required: requiredOf(challenge) });
}

/** 409: the receipt was used before. */
export function used(): GuardAnswer {
  const message = 'the receipt was used before: it permits one act';
  return answer(409, { code: 'permit_used', message, param: PROOF_HEADER });
}

/** 403: who shows the receipt is not its holder. */
export function notHolder(message: string): GuardAnswer {
  return answer(403, { code: 'permit_secret_invalid', message, param: PROOF_HEADER });
}

/** 503: the guard cannot decide, so it permits nothing. */
export function unavailable(reason: string): GuardAnswer {
  const error = { code: 'upstream_error', message: `${reason}: nothing is permitted meanwhile` };
  return answer(503, error, { 'Retry-After': '5' });
}

function answer(
  status: number,
  error: { readonly code: string; readonly message: string; readonly param?: string },
  headers: Readonly<Record<string, string>> = {},
  more: JsonObject = {},
): GuardAnswer {
  const type =
    status >= 500 ? 'api_error' : status === 403 ? 'authentication_error' : 'invalid_request_error';
  const request_id = `req_${base62(24)}`;
  return {
    status,
    headers: { 'Cache-Control': 'no-store', 'X-Request-Id': request_id, ...headers },
    body: { ...more, error: { type, ...error, request_id } },
  };
}

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Names a request; nothing rests on it, so the slight slant of the remainder does no harm. */
function base62(length: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(length));
  return Array.from(bytes, (byte) => DIGITS.charAt(byte % DIGITS.length)).join('');
}
