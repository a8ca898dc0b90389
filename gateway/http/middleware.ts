// The short middlewares of the request path, in the order of gateway/app.ts. The longer ones are files of their own:
// match, authenticate, rate-limit, body and idempotency.

import type { Middleware } from 'koa';
import { ApiError, sendPage } from '../../plugins/contract/index.ts';
import type { Route } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import type { TracedRequest } from '../tracing.ts';
import { AppendingRequest } from './append.ts';
import { mediaType } from './body.ts';
import { isApiPath, isPage } from './dispatch.ts';
import { finishBody } from './json-answer.ts';
import { ownerOf } from '../host/plugin-error.ts';
import { apiError, envelope, problemHeaders } from './problems.ts';
import type { Next, RequestContext } from './request.ts';
import { checkUnknown } from './unknown-members.ts';

/** The first middleware: gives each request its state, and each answer its X-Request-Id (gateway/API.md §4.1). */
export function requestId(gateway: Gateway): Middleware {
  return (ctx, next) => {
    const state = new AppendingRequest(gateway, ctx);
    ctx.state = state;
    ctx.res.setHeader('X-Request-Id', state.request_id);
    return next();
  };
}

/** A strict content security policy: no inline script, nothing from other origins. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "manifest-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
];

type Header = readonly [name: string, value: string];

/** The security headers of every answer. `secure` says that the service is reached over https. */
export const securityHeaderList = (secure: boolean): readonly Header[] => [
  ['content-security-policy', POLICY.join(';')],
  ['cross-origin-opener-policy', 'same-origin'],
  // Pages of other origins may embed tiles, keys and catalogs.
  ['cross-origin-resource-policy', 'cross-origin'],
  ['referrer-policy', 'no-referrer'],
  ...(secure
    ? [['strict-transport-security', 'max-age=31536000; includeSubDomains'] satisfies Header]
    : []),
  ['x-content-type-options', 'nosniff'],
  ['x-frame-options', 'DENY'],
];

/** Sets the headers of `securityHeaderList`. */
export function securityHeaders(list: readonly Header[]): Middleware {
  return (ctx, next) => {
    for (const [name, value] of list) ctx.res.setHeader(name, value);
    return next();
  };
}

/**
 * Writes one log line, one measurement and, if traces are on, one span for each answer. The line names route, status, tenant and key id; it never
 * has keys, bodies or query strings.
 */
export async function accessLog(ctx: RequestContext, next: Next): Promise<void> {
  await next();
  const { state } = ctx;
  const { gateway, matched, request_id } = state;
  const request: TracedRequest = {
    method: ctx.method,
    route: matched?.canonical ?? 'none',
    status: ctx.status,
    request_id,
    started_ms: state.started,
    headers: ctx.headers,
    answered: state.answered,
    span: state.span,
  };
  const caller = matched === null ? null : (state.caller as typeof state.caller | undefined);
  recordAnswer(gateway, request, caller ?? null);
}

/** Measures, traces and logs one answered request. */
export function recordAnswer(
  { metrics, tracing, logger }: Gateway,
  request: TracedRequest,
  caller: { readonly tenant: string; readonly key_id: string | null } | null,
): void {
  const { method, route, status, request_id, started_ms } = request;
  const ms = performance.now() - started_ms;
  metrics.request(route, method, status, ms / 1000);
  tracing?.request(request);
  if (!logger.isLevelEnabled('info')) return;
  logger.info(
    {
      request_id,
      method,
      route,
      status,
      ms: Math.round(ms * 1000) / 1000,
      tenant: caller?.tenant,
      key_id: caller?.key_id ?? undefined,
    },
    'request',
  );
}

/**
 * Answers every error that a later middleware throws with the error envelope and the status of its code.
 * The cause of an error goes to the log only, with the plugin that declared the route.
 */
export async function errors(ctx: RequestContext, next: Next): Promise<void> {
  const { problems } = ctx.state.gateway;
  try {
    await next();
  } catch (thrown) {
    try {
      answerError(ctx, apiError(thrown, problems), ctx.state.matched?.route);
    } catch (defect) {
      // The error has a header or member that cannot be sent, or the route's own error form threw.
      const cause = new Error('an error could not be answered', { cause: defect });
      answerError(ctx, apiError(cause, problems), undefined, false);
    }
  }
}

function answerError(ctx: RequestContext, error: ApiError, route?: Route, pages = true): void {
  const { request_id, gateway, matched } = ctx.state;
  const status = gateway.problems.statusOf(error.code);
  // Readiness probes ask every few seconds; their 503 is an answer, not a failure. So is that of a cluster which changes
  // its leader: the node logs the change.
  const expected =
    error.code === 'not_ready' || (gateway.cluster !== null && error.code === 'log_unavailable');
  if (status >= 500 && !expected) {
    const err = error.cause ?? error;
    const plugin = matched === null ? undefined : ownerOf(matched.route);
    gateway.logger.error({ request_id, route: matched?.canonical, plugin, err }, error.code);
  }
  ctx.status = status;
  ctx.set('Content-Type', 'application/json; charset=utf-8');
  ctx.set(problemHeaders(error, status));
  // The lease has changed, or will: the next leader takes the request in about a second.
  const retries = error.code === 'log_unavailable' && ctx.response.get('Retry-After') !== '';
  if (gateway.cluster !== null && retries) ctx.set('Retry-After', '1');
  ctx.remove('ETag');
  ctx.set('Cache-Control', 'no-store');
  const enveloped = envelope(error, status, request_id);
  if (pages && wantsPage(ctx)) {
    ctx.vary('Accept');
    sendPage(ctx, gateway.page('error', { title: titleOf(status), status, ...enveloped.error }));
    return;
  }
  const media_type = mediaType(ctx.req.headers['content-type']);
  const own = route?.problem?.({ status, ...enveloped.error, media_type });
  if (own === undefined) {
    ctx.body = JSON.stringify(enveloped);
  } else {
    ctx.set('Content-Type', own.type);
    ctx.body = Buffer.from(own.body);
  }
}

/**
 * Whether an error is answered with a page: a GET whose Accept prefers HTML, for a page or for a path that no route of
 * the API has (gateway/API.md §4.1). All other errors are envelopes.
 */
function wantsPage(ctx: RequestContext): boolean {
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return false;
  if (ctx.accepts('json', 'html') !== 'html') return false;
  const { matched, gateway } = ctx.state;
  if (matched !== null) return isPage(matched.route);
  // Koa's `path` throws for a target that is no valid URL; this has been said of the request.
  const [path = ''] = (ctx.req.url ?? '').split('?');
  return !isApiPath(gateway.routes(), path);
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'This address has a mistake in it',
  401: 'A key is needed',
  403: 'Not for this key',
  404: 'There is nothing here',
  429: 'Too many requests',
};

const titleOf = (status: number): string =>
  TITLES[status] ?? (status < 500 ? 'This request was refused' : 'The service could not answer');

/** The headers of a GET that needs no key. */
export const CORS_HEADERS: readonly Header[] = [
  ['Access-Control-Allow-Origin', '*'],
  ['Access-Control-Expose-Headers', 'X-Request-Id, Link, RateLimit, RateLimit-Policy, Retry-After'],
];

/**
 * Lets every web page read the GETs that need no key, and nothing else (gateway/API.md §4.3). The header is the same
 * for every origin, so that the answer needs no Vary. match.ts answers preflights.
 */
export function cors(ctx: RequestContext, next: Next): Promise<unknown> {
  if (ctx.state.matched?.shared === true) {
    for (const [name, value] of CORS_HEADERS) ctx.res.setHeader(name, value);
  }
  return next();
}

/**
 * Checks path and query parameters against the schemas of the route, and sets `state.query`. A name that is repeated
 * is 400.
 */
export function query(ctx: RequestContext, next: Next): Promise<unknown> {
  const { state } = ctx;
  const { matched } = state;
  if (matched === null) throw new Error('a request is matched before its query is read');
  if (ctx.querystring !== '') {
    const given = { ...ctx.query };
    for (const name of Object.keys(given)) {
      if (typeof given[name] !== 'string') {
        throw new ApiError('parameter_invalid', `${name} is given more than once`, { param: name });
      }
    }
    state.query = given;
    checkUnknown(ctx, matched.unknownQuery, given, 'query');
  }
  matched.params?.(state.params);
  matched.query?.(state.query);
  return next();
}

/** Longest wait for a checkpoint (gateway/API.md §1.4). */
const LONGEST_S = 30;

/**
 * Reads the preferences of a request (RFC 7240): `wait=N` sets `state.wait_ms`, and `handling=lenient` makes unknown
 * members of the request be ignored; the answer, if it is a JSON object, then lists them in `ignored`. An unknown or
 * malformed preference is ignored (RFC 7240 §2).
 */
export async function prefer(ctx: RequestContext, next: Next): Promise<void> {
  const header = ctx.req.headers['prefer'];
  if (typeof header === 'string') {
    const seconds = /(?:^|[,;])\s*wait\s*=\s*"?(\d{1,9})"?\s*(?=$|[,;])/i.exec(header)?.[1];
    if (seconds !== undefined) ctx.state.wait_ms = Math.min(Number(seconds), LONGEST_S) * 1000;
    ctx.state.lenient = /(?:^|[,;])\s*handling\s*=\s*"?lenient"?\s*(?=$|[,;])/i.test(header);
  }
  await next();
  if (ctx.state.ignored.length > 0) listIgnored(ctx);
}

/** Adds the ignored members to a JSON object that is the answer. Its entity tag would be that of the whole answer. */
function listIgnored(ctx: RequestContext): void {
  const { body, state } = ctx;
  ctx.append('Preference-Applied', 'handling=lenient');
  if (typeof body !== 'string' && !Buffer.isBuffer(body)) return;
  if (!ctx.response.get('Content-Type').startsWith('application/json')) return;
  const answered = JSON.parse(body.toString()) as unknown;
  if (typeof answered !== 'object' || answered === null || Array.isArray(answered)) return;
  ctx.remove('ETag');
  ctx.body = JSON.stringify({ ...answered, ignored: state.ignored });
}

/**
 * The last middleware: runs the handler of the matched route. Objects are sent as JSON, strings and bytes as they are.
 * A handler that sets no body is a defect; its author may have returned the body in place of setting it.
 */
export async function handle(ctx: RequestContext): Promise<void> {
  const { matched, gateway } = ctx.state;
  if (matched === null) throw new Error('a request is matched before it is handled');
  const { part } = matched;
  const from = gateway.loop.enter(part);
  try {
    const handled = matched.route.handle(ctx);
    gateway.loop.ran(part, from);
    await handled;
  } finally {
    gateway.loop.leave(part);
  }
  if (answeredNothing(ctx)) {
    throw new Error(
      'the handler set no answer: set ctx.body, or ctx.status for an answer without a body',
    );
  }
  finishBody(ctx);
}

/** Whether the answer is still Koa's initial 404: 204, 304, redirects and streams of the handler are answers. */
const answeredNothing = (ctx: RequestContext): boolean =>
  ctx.status === 404 && ctx.respond !== false && !ctx.headerSent && (ctx.body ?? null) === null;
