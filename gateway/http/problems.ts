// The error codes and their statuses (gateway/API.md §4.1), and the envelope. Codes that belong to one plugin are
// declared by it.

import { isLogError } from '../../log/index.ts';
import type { LogErrorCode } from '../../log/index.ts';
import { ApiError, isApiError } from '../../plugins/contract/index.ts';
import type { ApiErrorCode, ApiErrorOptions, DeclaredError } from '../../plugins/contract/index.ts';

/** `error.type` of the envelope. */
export type ProblemType =
  'invalid_request_error' | 'authentication_error' | 'rate_limit_error' | 'api_error';

/** The body of every answer that is an error. */
export interface Envelope {
  readonly error: {
    readonly type: ProblemType;
    readonly code: string;
    readonly message: string;
    readonly param?: string | undefined;
    readonly request_id: string;
  };
}

/** A row of the table. */
export interface Problem {
  readonly status: number;
  /** When a request ends with it. */
  readonly sentence: string;
}

const at = <const C extends ApiErrorCode>(
  status: number,
  codes: Readonly<Record<C, string>>,
): Record<C, Problem> =>
  Object.fromEntries(
    Object.entries<string>(codes).map(([code, sentence]) => [code, { status, sentence }]),
  ) as Record<C, Problem>;

/** The codes that belong to no single plugin. */
export const PROBLEMS: Readonly<Record<ApiErrorCode, Problem>> = {
  ...at(400, {
    message_required: 'The text to classify is missing.',
    parameter_missing: 'A parameter that the route needs is missing.',
    parameter_unknown: 'The body or the query has a member that the route does not know.',
    parameter_invalid: 'A parameter has a value that the route does not accept.',
    invalid_json: 'The body is not JSON, not in UTF-8, or has a name twice.',
    body_required: 'The request has no body.',
    invalid_format: 'The requested format of the answer does not exist.',
    invalid_idempotency_key: 'The Idempotency-Key is malformed.',
    invalid_webhook_url: 'The webhook address is no https address of a public host.',
  }),
  ...at(401, {
    api_key_missing: 'The route needs an API key.',
    api_key_invalid: 'The API key is unknown.',
    api_key_revoked: 'The API key was revoked.',
    api_key_expired: 'The API key has expired.',
  }),
  ...at(403, {
    tenant_forbidden: 'What the request names belongs to another tenant.',
    role_forbidden: 'The role of the API key may not call the route.',
  }),
  ...at(404, {
    resource_missing: 'What the request names does not exist.',
    route_not_found: 'No route has this path.',
  }),
  ...at(405, { method_not_allowed: 'The path has no route for this method.' }),
  ...at(409, {
    window_not_closed: 'The window ends after the newest checkpoint.',
    retention_hold: 'A retention hold forbids the erasure.',
    idempotency_key_reused: 'The Idempotency-Key was used with another request before.',
    idempotency_key_in_use:
      'The first request with this Idempotency-Key has not been answered yet.',
  }),
  ...at(413, {
    payload_too_large: 'The body is larger than the limit.',
    entry_too_large: 'The entry would be larger than 65,535 bytes.',
  }),
  ...at(415, { unsupported_media_type: 'The body is of a type that the route does not accept.' }),
  ...at(429, { rate_limited: 'The caller has used up its rate limit.' }),
  ...at(500, { internal_error: 'The request failed because of a defect of the service.' }),
  ...at(502, { upstream_error: 'A service that the request needs gave no usable answer.' }),
  ...at(503, {
    log_unavailable: 'The log takes no entries at the moment, or is served for reading only.',
    log_busy: 'Too many entries are waiting to be logged.',
    plugin_failed: 'A plugin failed on the entry, and nothing was appended.',
    not_ready: 'The service is starting, stopping, or degraded.',
  }),
};

/** `error.type` of a status. */
export function typeOf(status: number): ProblemType {
  if (status === 401 || status === 403) return 'authentication_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'api_error' : 'invalid_request_error';
}

/** The codes of a gateway: those of the table and those that its plugins declare. */
export class Problems {
  readonly #problems: ReadonlyMap<string, Problem>;

  /** @param declared codes of plugins, checked by the host: each is there once and not in the table */
  constructor(declared: readonly DeclaredError[] = []) {
    this.#problems = new Map<string, Problem>([
      ...Object.entries(PROBLEMS),
      ...declared.map((error) => [error.code, error] as const),
    ]);
  }

  has(code: string): boolean {
    return this.#problems.has(code);
  }

  /** The status of a code; 500 for one that is not declared. */
  statusOf(code: string): number {
    return this.#problems.get(code)?.status ?? 500;
  }
}

/** The codes for expected failures of the core. A code of the core that is missing here is a defect and a 500. */
const LOG_PROBLEMS: Partial<Record<LogErrorCode, ApiErrorCode>> = {
  json_invalid: 'invalid_json',
  encoding_invalid: 'parameter_invalid',
  key_invalid: 'parameter_invalid',
  note_invalid: 'parameter_invalid',
  proof_invalid: 'parameter_invalid',
  document_invalid: 'parameter_invalid',
  question_unanswered: 'parameter_invalid',
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
  log_read_only: 'log_unavailable',
  log_unavailable: 'log_unavailable',
  not_leader: 'log_unavailable',
  lease_lost: 'log_unavailable',
  rounds_lost: 'log_unavailable',
  log_rolled_back: 'log_unavailable',
  key_lost: 'log_unavailable',
  clock_untrusted: 'log_unavailable',
  plugin_failed: 'plugin_failed',
};

/** Codes of the core that only the operator can end. Their messages are for clients; none is asked to try again. */
const LASTING: ReadonlySet<string> = new Set(['log_read_only', 'log_closed']);

/** Parameters that a core error is about, where its code alone says so. */
const LOG_PARAMS: Partial<Record<LogErrorCode, string>> = {
  event_time_out_of_range: 'event_at_ms',
  entity_forbidden: 'entity',
  entity_unclaimed: 'entity',
};

const RETRY: Readonly<Partial<Record<string, string>>> = {
  log_busy: '1',
  log_unavailable: '5',
  not_ready: '5',
  window_not_closed: '1',
  idempotency_key_in_use: '1',
};

/** Turns a thrown value into the error that the client gets. Defects lose their message. */
export function apiError(thrown: unknown, problems: Problems): ApiError {
  if (isApiError(thrown) && problems.has(thrown.code)) return thrown;
  if (isLogError(thrown)) {
    const code = LOG_PROBLEMS[thrown.code];
    if (code !== undefined) {
      const param = LOG_PARAMS[thrown.code];
      const options: ApiErrorOptions = { cause: thrown, ...(param === undefined ? {} : { param }) };
      // A 5xx never shows a cause: details of the store go to the operator's log only.
      const hidden = PROBLEMS[code].status >= 500 && !LASTING.has(thrown.code);
      const shown = hidden ? messageOf(code) : thrown.message;
      return new ApiError(code, shown, options);
    }
  }
  return new ApiError('internal_error', messageOf('internal_error'), { cause: defectOf(thrown) });
}

/** The text of a defect for the operator's log. Throwing an undeclared code is a defect of the plugin. */
function defectOf(thrown: unknown): unknown {
  if (!isApiError(thrown)) return thrown;
  const reason = `an ApiError has the code ${thrown.code}, which the plugin does not declare`;
  return new Error(reason, { cause: thrown });
}

function messageOf(code: ApiErrorCode): string {
  if (code === 'log_busy') return 'too many entries are waiting: try again';
  if (code === 'log_unavailable') return 'the log takes no entries at the moment: try again';
  if (code === 'plugin_failed') return 'a plugin failed on this entry: nothing was appended';
  return 'the request failed on our side';
}

/** Headers of an error answer: Retry-After if waiting helps, WWW-Authenticate for 401 (RFC 6750 §3). */
export function problemHeaders(error: ApiError, status: number): Readonly<Record<string, string>> {
  if (status === 401) {
    const scheme = error.code === 'api_key_missing' ? 'Bearer' : 'Bearer error="invalid_token"';
    return { 'WWW-Authenticate': scheme, ...error.headers };
  }
  const lasting = isLogError(error.cause) && LASTING.has(error.cause.code);
  const retry = lasting ? undefined : RETRY[error.code];
  return retry === undefined ? error.headers : { 'Retry-After': retry, ...error.headers };
}

/** The envelope of an error with a status. */
export function envelope(error: ApiError, status: number, request_id: string): Envelope {
  const { code, message, param } = error;
  return { ...error.members, error: { type: typeOf(status), code, message, param, request_id } };
}
