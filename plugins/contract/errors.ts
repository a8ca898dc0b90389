// The errors of requests: one class, and a union of the gateway's codes (gateway/API.md §4.1).
// The table in gateway/http/problems.ts has the HTTP status and the type of each code.

/** The machine codes of the error envelope. */
export type ApiErrorCode =
  | 'message_required'
  | 'parameter_missing'
  | 'parameter_unknown'
  | 'parameter_invalid'
  | 'invalid_json'
  | 'body_required'
  | 'invalid_format'
  | 'invalid_idempotency_key'
  | 'invalid_webhook_url'
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
  | 'idempotency_key_reused'
  | 'idempotency_key_in_use'
  | 'payload_too_large'
  | 'entry_too_large'
  | 'unsupported_media_type'
  | 'rate_limited'
  | 'internal_error'
  | 'upstream_error'
  | 'log_unavailable'
  | 'log_busy'
  | 'plugin_failed'
  | 'not_ready';

/** An error code that a plugin declares; see `errorsOf`. */
export interface DeclaredError<C extends string = string> {
  /** Words of `a-z0-9`, joined by underscores. Unique among all plugins and the gateway. */
  readonly code: C;
  /** 400 to 499 or 502 to 504, except 401, 405, 422 and 429, which only the gateway uses. */
  readonly status: number;
  /** When the error occurs: one plain sentence, for the table of codes. */
  readonly sentence: string;
}

/**
 * Declares the error codes of a plugin. The plugin lists them as its `errors`, routes name them, and `ApiError` takes
 * them:
 *
 *     const notesErrors = errorsOf({ topic_closed: { status: 409, sentence: 'The topic takes no notes.' } });
 *     throw new ApiError(notesErrors.topic_closed, 'the topic was closed yesterday', { param: 'topic' });
 */
export function errorsOf<const T extends Readonly<Record<string, Omit<DeclaredError, 'code'>>>>(
  declared: T,
): { readonly [C in keyof T & string]: DeclaredError<C> } {
  const entries = Object.entries(declared).map(([code, { status, sentence }]) => [
    code,
    Object.freeze({ code, status, sentence }),
  ]);
  return Object.freeze(Object.fromEntries(entries)) as {
    readonly [C in keyof T & string]: DeclaredError<C>;
  };
}

/** Optional parts of an error. */
export interface ApiErrorOptions extends ErrorOptions {
  /** `error.param` of the envelope, the parameter that is wrong: a member name, or a path such as `parties.0.id`. */
  readonly param?: string;
  /** Headers of the answer, for example `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Members of the answer beside `error`, for example `required` of a 428. */
  readonly members?: Readonly<Record<string, unknown>>;
}

/** The brand of ApiErrors. It is in the global symbol registry, so all copies of this package share it. */
const BRAND = Symbol.for('actlog.ApiError');

/**
 * An expected failure of a request. Any other thrown value, and an ApiError with an undeclared code, is answered with a
 * 500 that does not show the cause.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly [BRAND] = true;
  /** One of `ApiErrorCode`, or a code that a plugin declares. */
  readonly code: string;
  readonly param: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly members: Readonly<Record<string, unknown>>;

  constructor(code: ApiErrorCode | DeclaredError, message: string, options: ApiErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = typeof code === 'string' ? code : code.code;
    this.param = options.param;
    this.headers = options.headers ?? {};
    this.members = options.members ?? {};
  }
}

/** Whether a thrown value is an ApiError, of this copy of the package or of another copy, such as a plugin's own. */
export const isApiError = (thrown: unknown): thrown is ApiError =>
  thrown instanceof Error && BRAND in thrown;
