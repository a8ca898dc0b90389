// The one table from error code to status and type (gateway/API.md §4.1), and the envelope.

import { isLogError } from '../../log/index.ts';
import type { LogErrorCode } from '../../log/index.ts';
import { ApiError, isApiError } from '../../plugins/contract/index.ts';
import type { ApiErrorCode, ApiErrorOptions } from '../../plugins/contract/index.ts';

/** `error.type` of the envelope. */
export type ProblemType =
  'invalid_request_error' | 'authentication_error' | 'rate_limit_error' | 'api_error';

/** The body of every answer that is an error. */
export interface Envelope {
  readonly error: {
    readonly type: ProblemType;
    readonly code: string;
    readonly message: string;
    readonly param?: string;
    readonly request_id: string;
  };
}

const table = <const C extends ApiErrorCode>(
  status: number,
  type: ProblemType,
  codes: readonly C[],
): Record<C, { status: number; type: ProblemType }> =>
  Object.fromEntries(codes.map((code) => [code, { status, type }])) as Record<
    C,
    { status: number; type: ProblemType }
  >;

/** Status and type of each code. */
export const PROBLEMS: Readonly<Record<ApiErrorCode, { status: number; type: ProblemType }>> = {
  ...table(400, 'invalid_request_error', [
    'message_required',
    'parameter_missing',
    'parameter_invalid',
    'invalid_json',
    'body_required',
    'invalid_format',
    'invalid_idempotency_key',
    'action_ref_mismatch',
    'preimage_conflict',
    'ambiguous_timestamp',
    'invalid_payment_hash',
    'invalid_webhook_url',
    'graph_cycle',
    'general_average_conditions_unmet',
  ]),
  ...table(401, 'authentication_error', [
    'api_key_missing',
    'api_key_invalid',
    'api_key_revoked',
    'api_key_expired',
  ]),
  ...table(403, 'authentication_error', ['tenant_forbidden', 'role_forbidden']),
  ...table(404, 'invalid_request_error', ['resource_missing', 'route_not_found']),
  ...table(405, 'invalid_request_error', ['method_not_allowed']),
  ...table(409, 'invalid_request_error', [
    'window_not_closed',
    'retention_hold',
    'hold_resolved',
    'permit_used',
    'idempotency_key_reused',
    'idempotency_key_in_use',
    'payment_already_bound',
    'trigger_already_fired',
    'trigger_window_closed',
    'oracle_disputed',
    'manifest_exists',
  ]),
  ...table(413, 'invalid_request_error', ['payload_too_large', 'entry_too_large']),
  ...table(415, 'invalid_request_error', ['unsupported_media_type']),
  ...table(428, 'invalid_request_error', ['receipt_required']),
  ...table(429, 'rate_limit_error', ['rate_limited']),
  ...table(500, 'api_error', ['internal_error']),
  ...table(502, 'api_error', ['upstream_error']),
  ...table(503, 'api_error', [
    'log_unavailable',
    'log_busy',
    'plugin_failed',
    'not_ready',
    'inference_upstream_unconfigured',
  ]),
};

/** How an expected failure of the core reaches a client; what is not here is a defect and a 500. */
const LOG_PROBLEMS: Partial<Record<LogErrorCode, ApiErrorCode>> = {
  json_invalid: 'invalid_json',
  encoding_invalid: 'parameter_invalid',
  key_invalid: 'parameter_invalid',
  note_invalid: 'parameter_invalid',
  proof_invalid: 'parameter_invalid',
  document_invalid: 'parameter_invalid',
  policy_invalid: 'parameter_invalid',
  event_time_out_of_range: 'parameter_invalid',
  links_exceeded: 'parameter_invalid',
  entity_unclaimed: 'parameter_invalid',
  entry_too_large: 'entry_too_large',
  entity_forbidden: 'tenant_forbidden',
  out_of_range: 'resource_missing',
  not_found: 'resource_missing',
  window_not_closed: 'window_not_closed',
  log_busy: 'log_busy',
  log_closed: 'log_unavailable',
  log_unavailable: 'log_unavailable',
  log_rolled_back: 'log_unavailable',
  key_lost: 'log_unavailable',
  clock_untrusted: 'log_unavailable',
  plugin_failed: 'plugin_failed',
};

/** Parameters that a core error is about, where its code alone says so. */
const LOG_PARAMS: Partial<Record<LogErrorCode, string>> = {
  event_time_out_of_range: 'event_at_ms',
  entity_forbidden: 'entity',
  entity_unclaimed: 'entity',
};

const RETRY: Partial<Record<ApiErrorCode, string>> = {
  log_busy: '1',
  log_unavailable: '5',
  not_ready: '5',
  window_not_closed: '1',
  idempotency_key_in_use: '1',
};

/** Any thrown value as the error that the client gets; defects lose their message. */
export function apiError(thrown: unknown): ApiError {
  if (isApiError(thrown) && isCode(thrown.code)) return thrown;
  if (isLogError(thrown)) {
    const code = LOG_PROBLEMS[thrown.code];
    if (code !== undefined) {
      const param = LOG_PARAMS[thrown.code];
      const options: ApiErrorOptions = { cause: thrown, ...(param === undefined ? {} : { param }) };
      // A 5xx never shows a cause: what the store says is for the operator's log.
      const shown = PROBLEMS[code].status >= 500 ? messageOf(code) : thrown.message;
      return new ApiError(code, shown, options);
    }
  }
  return new ApiError('internal_error', messageOf('internal_error'), { cause: defectOf(thrown) });
}

/** Whether the table has the code. Plugins in JavaScript name what they like. */
export const isCode = (code: unknown): code is ApiErrorCode =>
  typeof code === 'string' && Object.hasOwn(PROBLEMS, code);

/** What the operator's log shows of a defect; an error whose code nobody knows is one of its author. */
function defectOf(thrown: unknown): unknown {
  if (!isApiError(thrown)) return thrown;
  const reason = `an ApiError has the unknown code ${thrown.code}: ${thrown.message}`;
  return new Error(reason, { cause: thrown });
}

function messageOf(code: ApiErrorCode): string {
  if (code === 'log_busy') return 'too many entries are waiting: try again';
  if (code === 'log_unavailable') return 'the log takes no entries at the moment: try again';
  if (code === 'plugin_failed') return 'a plugin failed on this entry: nothing was appended';
  return 'the request failed on our side';
}

/** Headers that an error's answer carries: Retry-After where waiting helps, of a 401 the scheme (RFC 6750 §3). */
export function problemHeaders(error: ApiError): Readonly<Record<string, string>> {
  if (PROBLEMS[error.code].status === 401) {
    const scheme = error.code === 'api_key_missing' ? 'Bearer' : 'Bearer error="invalid_token"';
    return { 'WWW-Authenticate': scheme, ...error.headers };
  }
  const retry = RETRY[error.code];
  return retry === undefined ? error.headers : { 'Retry-After': retry, ...error.headers };
}

/** The envelope of an error. */
export function envelope(error: ApiError, request_id: string): Envelope {
  const { type } = PROBLEMS[error.code];
  const { code, message, param } = error;
  return {
    ...error.members,
    error: { type, code, message, ...(param === undefined ? {} : { param }), request_id },
  };
}
