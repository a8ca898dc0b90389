// The errors of the client. Each class has a brand, so that two copies of the package in one program recognise each
// other's errors with `is`.

import type { JsonObject } from '../../../log/verify.ts';

const API_ERROR = Symbol.for('actlog.client.ApiError');
const CONNECTION_FAILED = Symbol.for('actlog.client.ConnectionFailed');
const UNVERIFIED = Symbol.for('actlog.client.Unverified');

const hasBrand = (thrown: unknown, brand: symbol): boolean =>
  thrown instanceof Error && brand in thrown;

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** The service refused a request, or could not answer it (gateway/API.md §4.1). */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly [API_ERROR] = true;
  /** The HTTP status. */
  readonly status: number;
  /** The stable code, such as `message_required`; `unknown` if the answer is no error envelope. */
  readonly code: string;
  /** The class of the code, such as `invalid_request_error`; `unknown` if the answer is no error envelope. */
  readonly type: string;
  /** The member or parameter that was refused; null if the service names none. */
  readonly param: string | null;
  /** The id by which the operator finds the request in its own log. */
  readonly requestId: string | null;
  /** The wait that the service asks for, in milliseconds; null if it asks for none. */
  readonly retryAfterMs: number | null;

  /** @param error the member `error` of the envelope; empty if the answer has none */
  constructor(status: number, error: Readonly<Partial<JsonObject>>, retryAfterMs: number | null) {
    const code = textOf(error.code) ?? 'unknown';
    const message = textOf(error.message) ?? 'the answer is no error envelope';
    super(`${String(status)} ${code}: ${message}`);
    this.status = status;
    this.code = code;
    this.type = textOf(error.type) ?? 'unknown';
    this.param = textOf(error.param);
    this.requestId = textOf(error.request_id);
    this.retryAfterMs = retryAfterMs;
  }

  static is(thrown: unknown): thrown is ApiError {
    return hasBrand(thrown, API_ERROR);
  }
}

/**
 * The service could not be reached, the connection broke, or the timeout passed. The caller does not know whether the
 * service acted on the request: repeat it with the same Idempotency-Key.
 */
export class ConnectionFailed extends Error {
  override readonly name = 'ConnectionFailed';
  readonly [CONNECTION_FAILED] = true;

  static is(thrown: unknown): thrown is ConnectionFailed {
    return hasBrand(thrown, CONNECTION_FAILED);
  }
}

/** An answer or a webhook message fails verification, or contains nothing that can be verified. Do not use it. */
export class Unverified extends Error {
  override readonly name = 'Unverified';
  readonly [UNVERIFIED] = true;

  static is(thrown: unknown): thrown is Unverified {
    return hasBrand(thrown, UNVERIFIED);
  }
}
