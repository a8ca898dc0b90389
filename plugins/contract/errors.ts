// The errors that a request may end with: one class, a closed union of codes (gateway/API.md §4.1).
// Which status and type each code has stands in one table, gateway/http/problems.ts.

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
  /** Words of `a-z0-9`, joined by underscores. No other plugin and not the gateway has it. */
  readonly code: C;
  /** 400 to 499 or 502 to 504, but for 401, 405, 422 and 429, which are the gateway's own. */
  readonly status: number;
  /** When a request ends with it: one plain sentence, for the table of codes. */
  readonly sentence: string;
}

/**
 * The error codes of a plugin, as its member `errors` and its routes list them and as `ApiError` takes them:
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

/**
 * An expected failure of a request. Everything else that a handler throws is answered with a 500 that shows no cause,
 * and so is an ApiError with a code that no plugin declares.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly [BRAND] = true;
  /** A code of the gateway, or one that a plugin declares. */
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

/** Whether a thrown value is an ApiError, of this copy of the package or of another one, such as a plugin's own. */
export const isApiError = (thrown: unknown): thrown is ApiError =>
  thrown instanceof Error && BRAND in thrown;
