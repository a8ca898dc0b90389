// The errors that a request may end with: one class, a closed union of codes (gateway/API.md §4.1).
// Which status and type each code has stands in one table, gateway/http/problems.ts.

/** The machine codes of the error envelope. */
export type ApiErrorCode =
  | 'message_required'
  | 'parameter_missing'
  | 'parameter_invalid'
  | 'invalid_json'
  | 'body_required'
  | 'invalid_format'
  | 'invalid_idempotency_key'
  | 'action_ref_mismatch'
  | 'preimage_conflict'
  | 'ambiguous_timestamp'
  | 'invalid_payment_hash'
  | 'invalid_webhook_url'
  | 'graph_cycle'
  | 'general_average_conditions_unmet'
  | 'api_key_missing'
  | 'api_key_invalid'
  | 'api_key_revoked'
  | 'api_key_expired'
  | 'tenant_forbidden'
  | 'role_forbidden'
  | 'resource_missing'
  | 'route_not_found'
  | 'method_not_allowed'
  | 'window_not_closed'
  | 'retention_hold'
  | 'hold_resolved'
  | 'permit_used'
  | 'idempotency_key_reused'
  | 'idempotency_key_in_use'
  | 'payment_already_bound'
  | 'trigger_already_fired'
  | 'trigger_window_closed'
  | 'oracle_disputed'
  | 'manifest_exists'
  | 'payload_too_large'
  | 'entry_too_large'
  | 'unsupported_media_type'
  | 'receipt_required'
  | 'rate_limited'
  | 'internal_error'
  | 'upstream_error'
  | 'log_unavailable'
  | 'log_busy'
  | 'plugin_failed'
  | 'not_ready'
  | 'inference_upstream_unconfigured';

/** What may stand beside the code and the message. */
export interface ApiErrorOptions extends ErrorOptions {
  /** The offending parameter, `error.param` of the envelope: a member name or a path like `parties.0.id`. */
  readonly param?: string;
  /** Headers that the answer must carry, for example `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Members of the answer beside `error`, for example `required` of a 428. */
  readonly members?: Readonly<Record<string, unknown>>;
}

/** The brand of errors of requests. It is registered, so that every copy of this package has the same one. */
const BRAND = Symbol.for('actlog.ApiError');

/** An expected failure of a request. Anything else that a handler throws becomes a 500 that shows no cause. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly [BRAND] = true;
  readonly code: ApiErrorCode;
  readonly param: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly members: Readonly<Record<string, unknown>>;

  constructor(code: ApiErrorCode, message: string, options: ApiErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.param = options.param;
    this.headers = options.headers ?? {};
    this.members = options.members ?? {};
  }
}

/** Whether a thrown value is an ApiError, of this copy of the package or of another one, such as a plugin's own. */
export const isApiError = (thrown: unknown): thrown is ApiError =>
  thrown instanceof Error && BRAND in thrown;
