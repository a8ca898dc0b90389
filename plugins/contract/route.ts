// Routes: the caller, the state of a handler, and the declaration from which the gateway derives validation, limits,
// idempotency and the OpenAPI operation. gateway/API.md §3, §4.

import { hash } from 'node:crypto';
import type { ParameterizedContext } from 'koa';
import type { Static, TSchema } from 'typebox';
import type { AppendOptions, Disclosure, Draft, Json, JsonObject, Kind } from '../../log/index.ts';
import type { ApiErrorCode, DeclaredError } from './errors.ts';
import type { LogView } from './log-view.ts';

/** A request of at least this cost is heavy: the gateway runs one heavy request of a caller at a time. */
export const HEAVY_COST = 5;

/** The request as a handler and `respond` see it. Its members have passed the route's schemas. */
export interface RouteRequest<P = unknown, Q = unknown, B = unknown> {
  readonly params: P;
  /** Values are the strings of the request. A request that repeats a name has been refused. */
  readonly query: Q;
  /** May also have members that the schema does not name; those are not checked. */
  readonly body: B;
  readonly caller: Caller;
}

/** One appended entry, from which `respond` builds the answer. */
export interface AnsweredEntry {
  readonly index: number;
  readonly entry_id: string;
  readonly issued_at_ms: number;
  /** The entry without its signature. */
  readonly statement: JsonObject;
  /** The answer has the entry's receipt wherever `respond` puts this value. */
  readonly receipt: AnsweredReceipt;
}

/**
 * The receipt of an entry in an answer. The gateway writes it as the entry's exact text with the derived members added
 * (gateway/API.md §1.1). A plugin can read only these derived members; the signed members are in `statement`.
 */
export type AnsweredReceipt = Readonly<Record<'entry_hash' | 'permalink' | 'verify_url', string>>;

/** `ctx.state` of a handler. */
export interface RouteState<P = unknown, Q = unknown, B = unknown> extends RouteRequest<P, Q, B> {
  /** `req_` and 24 base62 characters. The answer has it as X-Request-Id. */
  readonly request_id: string;
  /**
   * Appends the drafts, and the idempotency record, as one atomic group to the caller's log, and answers 200 with the
   * result of the route's `respond`. A draft without a `tenant_ref` gets that of the caller. A request appends at most
   * one group, because an Idempotency-Key identifies one group. A refused group appends nothing; the handler may then
   * try another one.
   */
  append(drafts: readonly Draft[], options?: GroupOptions): Promise<void>;
  /**
   * Answers with entries that are already in a log, by default the newest, as if this request had appended them.
   */
  answerWith(indexes: readonly number[], log?: Pick<LogView, 'number'>): Promise<void>;
  /** False if the request reads the live log without a key; the handler must then append nothing. See `asksLive`. */
  readonly may_append: boolean;
  /**
   * For an answer that streams: adds the bytes that the handler buffers to those that wait for the client. When all
   * answers together buffer more than SEND_BUFFER_BYTES, the gateway closes the connections of clients that do not
   * read, those with the largest buffers first.
   */
  holds(bytes: () => number): void;
  /** How long the request may wait because of `Prefer: wait=N`, in milliseconds; 0 without the header. */
  readonly wait_ms: number;
}

/** Options of `RouteState.append`. */
export interface GroupOptions extends Pick<AppendOptions, 'check'> {
  /**
   * What `respond` needs beside the entries. The first answer gets `now`. A repeated request with the same
   * Idempotency-Key gets the result of `later`, which is stored with the key. Private values must not be in it: those
   * belong into a disclosure.
   */
  readonly keep?: { readonly now: unknown; later(): Json };
}

/** The Koa context of a handler. */
export type RouteContext<P = unknown, Q = unknown, B = unknown> = ParameterizedContext<
  RouteState<P, Q, B>
>;

/**
 * One answer of a route. `schema` is a TypeBox schema; without one the body is not JSON, and `type` is its media type.
 */
export interface RouteResponse {
  readonly description: string;
  readonly schema?: TSchema;
  /** Content type; application/json by default if there is a schema. */
  readonly type?: string;
  /** Content type of the page that browsers get instead. */
  readonly page?: string;
  /** Further content types that a request can choose, such as `text/csv` by `format=csv`. */
  readonly formats?: readonly string[];
  readonly example?: Json;
}

/** An error, as a route with an error format of its own receives it to write the body. */
export interface RouteProblem {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly param?: string | undefined;
  readonly request_id: string;
  /** Media type of the request's body, in lower case; null if it has none. */
  readonly media_type: string | null;
}

/** The input of a route's `cost` function. */
export interface CostRequest<P = unknown, Q = unknown, B = unknown> extends RouteRequest<P, Q, B> {
  /** Length of the body as received. */
  readonly body_bytes: number;
}

/** A route as its author writes it; see `route`. */
export interface RouteDeclaration<
  P extends TSchema = TSchema,
  Q extends TSchema = TSchema,
  B extends TSchema = TSchema,
> {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** `/carrier/v1/insured/{slug}/compliance`. `{rest*}` at the end matches the rest of the path, slashes included. */
  readonly path: string;
  /** Other paths of the same route. They share its idempotency scope, and answer with a Link header to `path`. */
  readonly aliases?: readonly string[];
  /** Groups operations in the OpenAPI document. */
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  /**
   * Roles of the keys that may call the route, if `access` is a string. The default is every role for `read`, and
   * `carrier` otherwise. Roles include others: `operator` may do what `carrier` and `insured` may, `service`
   * everything.
   */
  readonly roles?: readonly Role[];
  /** A GET that may append. Without a key it is treated as a write (setting ANONYMOUS_WRITES). It needs `respond`. */
  readonly appends?: boolean;
  /**
   * The route can also answer without appending. If ANONYMOUS_WRITES sends entries to the sandbox, a request without a
   * key then reads the live log, and `may_append` is false.
   */
  readonly asksLive?: boolean;
  /** Accepts Idempotency-Key and `Prefer: wait=N`; such a route answers through `append` and `respond`. */
  readonly idempotent?: boolean;
  /** The rate limit that counts the request: by default `write` for POST and `read` for GET. `log` is larger. */
  readonly budget?: 'write' | 'read' | 'log' | 'none';
  /**
   * How many requests of the budget this request counts as; 1 is about 20 ms of one core. A route whose work grows with
   * its input computes the cost from the input. The result is rounded down, and a thrown ApiError becomes the answer.
   * The default is 1, plus 1 for each 64 KiB of the body. From `HEAVY_COST` on, requests of one caller run one at a
   * time.
   */
  readonly cost?:
    number | ((request: CostRequest<Static<P>, Static<Q>, Static<B>>) => number | Promise<number>);
  /** The route reads a whole session, so its work is unbounded: a caller may run only a few such requests at once. */
  readonly whole?: boolean;
  /** TypeBox objects. Path and query values are strings, so their members are string schemas (patterns, literals). */
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  /** Request headers that the handler reads, for the OpenAPI document: a TypeBox object by header name, unchecked. */
  readonly headers?: TSchema;
  /**
   * The route also answers `POST <path>/batch`, whose body has one request in each line (gateway/API.md §4.5). It needs
   * `idempotent`.
   */
  readonly batch?: boolean;
  /**
   * Content type of a body that is not JSON, or several of them, the usual one first. The handler gets the body as a
   * Uint8Array; `example` is a body of the first type in base64.
   */
  readonly bytes?: string | readonly string[];
  /** A body of `bytes` may be compressed with gzip. The handler gets it decompressed. */
  readonly gzip?: boolean;
  /** Largest body, as received and decompressed; the setting MAX_BODY_BYTES unless given. */
  readonly max_bytes?: number;
  /** Writes the errors of a route whose standard has its own error format; by default the error envelope is used. */
  problem?(problem: RouteProblem): { readonly type: string; readonly body: Uint8Array };
  /** False if an absent body means `{}`; true by default. */
  readonly bodyRequired?: boolean;
  readonly responses: Readonly<Record<number, RouteResponse>>;
  /** Error codes of this route, beside those that every route may answer with. */
  readonly errors?: readonly (ApiErrorCode | DeclaredError)[];
  /** A valid request body, for the OpenAPI document and the contract suite. */
  readonly example?: Json;
  /** The answer is the receipt of the first entry, without an enclosing object. There is no `respond` then. */
  readonly flat?: boolean;
  handle(ctx: RouteContext<Static<P>, Static<Q>, Static<B>>): unknown;
  /**
   * Makes the body of the answer. The gateway calls it after the append, and again, possibly days later, for a request
   * with the same Idempotency-Key. It must therefore depend only on its arguments.
   */
  respond?(
    entries: readonly AnsweredEntry[],
    disclosures: readonly Readonly<Record<string, Disclosure>>[],
    request: RouteRequest<Static<P>, Static<Q>, Static<B>>,
    kept?: unknown,
  ): object;
}

/** A declared route with any schemas. */
export type Route = RouteDeclaration;

/** Infers the types of the handler from the route's schemas. Returns the declaration unchanged. */
export function route<
  P extends TSchema = TSchema,
  Q extends TSchema = TSchema,
  B extends TSchema = TSchema,
>(declaration: RouteDeclaration<P, Q, B>): Route {
  return declaration;
}

/**
 * The roles of API keys (gateway/API.md §3.1). `carrier` acts for its tenant. `operator` also makes decisions for the
 * tenant: policies, holds, findings. `service` also acts on the service itself; only the command line issues such keys.
 * `insured` reads its own mandate and compliance, and verifies.
 */
export const ROLES = ['carrier', 'insured', 'operator', 'service'] as const;

/** One of `ROLES`. */
export type Role = (typeof ROLES)[number];

/** The caller of a request. Without a key it is the tenant `public`. */
export interface Caller {
  /** The tenant's name; never enters the log. */
  readonly tenant: string;
  /** The tenant's pseudonym in entries: 22 base64url characters, different in the live and the sandbox log. */
  readonly tenant_ref: string;
  /** The log that this caller's entries go to. */
  readonly kind: Kind;
  readonly sandbox: boolean;
  /** Null for `public`. */
  readonly role: Role | null;
  /** Scopes with which the key was issued. Only plugins check scopes; the gateway checks none. */
  readonly scopes: readonly string[];
  /** Identifier of the key, not the secret; null for `public`. */
  readonly key_id: string | null;
  readonly ip: string;
  /**
   * The pseudonym of this tenant's session: 43 base64url characters (log/FORMAT.md §4). It differs from log to log;
   * `origin` selects the log, by default the newest.
   */
  sessionRef(session_id: string, origin?: string): string;
}

/**
 * The callers that a route admits. `open`: everybody; without a key the caller is `public`, and ANONYMOUS_WRITES
 * selects the log of its entries. `key`: 401 without a key. `read`: public, no key is needed. `{roles}`: a key of one
 * of these roles. An invalid key is answered with 401 on every route. `RouteDeclaration.roles` restricts the roles of
 * the others.
 */
export type Access = 'open' | 'key' | 'read' | { readonly roles: readonly Role[] };

/**
 * A JSON object in an answer, made of pre-rendered JSON text and the members of `more` after it. It may be nested at
 * any depth; as a direct member of the answer the text is written without being parsed.
 */
export class ReadyJson {
  // Private fields, so that spreading the object into an answer does not copy them.
  readonly #text: string;
  readonly #more: object;

  constructor(text: string, more: object) {
    this.#text = text;
    this.#more = more;
  }

  /** JSON of an object with at least one member. */
  get text(): string {
    return this.#text;
  }

  get more(): object {
    return this.#more;
  }

  /** Parses the text; used by JSON.stringify for an object that is nested deeper in the answer. */
  toJSON(): object {
    return Object.assign(JSON.parse(this.text) as JsonObject, this.more);
  }
}

/** Content type of every page. */
export const HTML = 'text/html; charset=utf-8';

/**
 * Sends a rendered page, with `Cache-Control: no-cache` unless the route has set the header. A style sheet in the page is
 * allowed by its hash (CSP Level 3 §2.3.1).
 */
export function sendPage(ctx: ParameterizedContext<object>, html: string): void {
  const style = /<style>([^]*?)<\/style>/.exec(html)?.[1];
  if (style !== undefined) {
    const source = `'sha256-${hash('sha256', style, 'base64')}'`;
    const policy = ctx.response.get('Content-Security-Policy');
    ctx.set('Content-Security-Policy', policy.replace(/style-src [^;]*/, `$& ${source}`));
  }
  if (!ctx.res.hasHeader('Cache-Control')) ctx.set('Cache-Control', 'no-cache');
  ctx.set('Content-Type', HTML);
  ctx.body = Buffer.from(html);
}

/** The members of a page's route that `pageRoute` does not set. */
export type PageDeclaration<P extends TSchema, Q extends TSchema> = Pick<
  RouteDeclaration<P, Q>,
  'path' | 'summary' | 'description' | 'params' | 'query' | 'errors'
> & {
  /** The group of the page in lists of pages and in /docs; `Pages` unless given. */
  readonly tag?: string;
};

/** A public route that answers with the page that `html` renders. */
export function pageRoute<P extends TSchema = TSchema, Q extends TSchema = TSchema>(
  page: PageDeclaration<P, Q>,
  html: (ctx: RouteContext<Static<P>, Static<Q>>) => string | Promise<string>,
): Route {
  return route<P, Q>({
    ...{ method: 'GET', tag: 'Pages', access: 'read' },
    ...page,
    responses: { 200: { description: 'The page.', type: HTML } },
    async handle(ctx) {
      sendPage(ctx, await html(ctx));
    },
  });
}
