// Routes: who calls, what a handler gets, how it answers, and the declaration that the gateway derives the rest from.
// gateway/API.md §3, §4.

import type { ParameterizedContext } from 'koa';
import type { Static, TSchema } from 'typebox';
import type { AppendOptions, Disclosure, Draft, Json, JsonObject, Kind } from '../../log/index.ts';
import type { ApiErrorCode, DeclaredError } from './errors.ts';
import type { LogView } from './log-view.ts';

/** Requests that cost as much, or more, are heavy: of one caller one runs at a time. */
export const HEAVY_COST = 5;

/** What a handler and `respond` know of the request; members have passed the route's schemas. */
export interface RouteRequest<P = unknown, Q = unknown, B = unknown> {
  readonly params: P;
  /** Values are strings, as they came; a repeated name is refused. */
  readonly query: Q;
  /** Members that the schema does not name are there too, unchecked. */
  readonly body: B;
  readonly caller: Caller;
}

/** One appended entry as an answer needs it. */
export interface AnsweredEntry {
  readonly index: number;
  readonly entry_id: string;
  readonly issued_at_ms: number;
  /** The statement: what the entry says, without its signature. */
  readonly statement: JsonObject;
  /** Stands for the receipt wherever an answer is to hold it. */
  readonly receipt: AnsweredReceipt;
}

/**
 * The receipt of an entry in an answer: it goes out as the entry's own text with the members that are derived of it
 * (gateway/API.md §1.1), of which these can be read here. What the entry says stands in `statement`.
 */
export type AnsweredReceipt = Readonly<Record<'entry_hash' | 'permalink' | 'verify_url', string>>;

/** What `ctx.state` holds in a handler. */
export interface RouteState<P = unknown, Q = unknown, B = unknown> extends RouteRequest<P, Q, B> {
  /** `req_` and 24 base62 characters; also the X-Request-Id of the answer. */
  readonly request_id: string;
  /**
   * Appends the drafts as one atomic group to the caller's log, the idempotency record with them, and
   * answers 200 with what the route's `respond` makes of them. `tenant_ref` is filled in where a draft
   * names none. One group for a request: an Idempotency-Key names one. A refused group leaves nothing,
   * and another may follow it.
   */
  append(drafts: readonly Draft[], options?: GroupOptions): Promise<void>;
  /** Answers with entries that stand already, of the newest log unless given, as if this request had appended them. */
  answerWith(indexes: readonly number[], log?: Pick<LogView, 'number'>): Promise<void>;
  /** False where the request asks the live log without a key and must not append; see `asksLive`. */
  readonly may_append: boolean;
  /**
   * Counts what the handler keeps for an answer that streams, in bytes, with what waits for the client to read: of
   * clients that read nothing, the fullest are ended once all hold more than SEND_BUFFER_BYTES.
   */
  holds(bytes: () => number): void;
  /** How long `Prefer: wait=N` lets the request wait, in milliseconds; 0 without it. */
  readonly wait_ms: number;
}

/** How a request's group is appended. */
export interface GroupOptions extends Pick<AppendOptions, 'check'> {
  /**
   * What `respond` needs and the entries do not say: it gets `now` at once, and what `later` made of it,
   * stored with the Idempotency-Key, when that comes back. Nothing that a disclosure should hold.
   */
  readonly keep?: { readonly now: unknown; later(): Json };
}

/** The Koa context of a handler. */
export type RouteContext<P = unknown, Q = unknown, B = unknown> = ParameterizedContext<
  RouteState<P, Q, B>
>;

/** One answer of a route. `schema` is TypeBox; without one the body is not JSON and `type` says what it is. */
export interface RouteResponse {
  readonly description: string;
  readonly schema?: TSchema;
  /** Content type, application/json where there is a schema; `page`: of the page that browsers get in its place. */
  readonly type?: string;
  readonly page?: string;
  /** Content types that the answer has where the request asks for them, such as `text/csv` for `format=csv`. */
  readonly formats?: readonly string[];
  readonly example?: Json;
}

/** An error on its way to the client, as a route's own form shows it. */
export interface RouteProblem {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly param?: string | undefined;
  readonly request_id: string;
}

/** What the cost of a request is computed from. */
export interface CostRequest<P = unknown, Q = unknown, B = unknown> extends RouteRequest<P, Q, B> {
  /** Length of the body as it came. */
  readonly body_bytes: number;
}

/** A route as its author writes it; see `route`. */
export interface RouteDeclaration<
  P extends TSchema = TSchema,
  Q extends TSchema = TSchema,
  B extends TSchema = TSchema,
> {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** `/carrier/v1/insured/{slug}/compliance`; `{rest*}` at the end takes what is left, slashes too. */
  readonly path: string;
  /** Other paths of the same route; they share its idempotency scope and answer with a canonical Link. */
  readonly aliases?: readonly string[];
  /** Groups operations in the OpenAPI document. */
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  /**
   * Roles of the keys that may call the route, where `access` is a word. Unless said, all of them where it is `read`,
   * else `carrier`. A role takes in others: `operator` may do what `carrier` and `insured` may, and `service` all.
   */
  readonly roles?: readonly Role[];
  /** A GET that may append: without a key it is a write, as ANONYMOUS_WRITES says, and needs `respond`. */
  readonly appends?: boolean;
  /**
   * Answers without appending too. Where ANONYMOUS_WRITES sends entries to the sandbox, a request without a key then
   * asks the live log, and `may_append` is false.
   */
  readonly asksLive?: boolean;
  /** Accepts Idempotency-Key and `Prefer: wait=N`; such a route answers through `append` and `respond`. */
  readonly idempotent?: boolean;
  /** Which rate limit counts: `write` for POST and `read` for GET unless said; `log` is the larger one of log reads. */
  readonly budget?: 'write' | 'read' | 'log' | 'none';
  /**
   * For how many requests of its budget one counts, where 1 is some 20 ms of a core. A route whose work grows with its
   * input computes it from that; it is rounded down, ApiErrors are answers. Unless said, it is 1, and 1 for each
   * 64 KiB of the body. From `HEAVY_COST` on, requests of one caller run one at a time.
   */
  readonly cost?:
    number | ((request: CostRequest<Static<P>, Static<Q>, Static<B>>) => number | Promise<number>);
  /** Its work grows with a session that callers make as long as they like: each has a few under way at a time. */
  readonly whole?: boolean;
  /** Objects of TypeBox. Path and query values are strings, so their schemas are of strings (patterns, literals). */
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  /** Request headers that the handler reads, for the OpenAPI document: a TypeBox object by header name, unchecked. */
  readonly headers?: TSchema;
  /** Content type of a body of bytes: the handler gets a Uint8Array; `example` is then the body in base64. */
  readonly bytes?: string;
  /** How errors of this route are answered where its standard has a form of its own; else the envelope. */
  problem?(problem: RouteProblem): { readonly type: string; readonly body: Uint8Array };
  /** False where `{}` is meant by an absent body; true unless said. */
  readonly bodyRequired?: boolean;
  readonly responses: Readonly<Record<number, RouteResponse>>;
  /** Codes that this route adds to those which every route may answer. */
  readonly errors?: readonly (ApiErrorCode | DeclaredError)[];
  /** A request body that works, for the OpenAPI document and the contract suite. */
  readonly example?: Json;
  /** The answer is the first entry's receipt itself, with nothing around it; then there is no `respond`. */
  readonly flat?: boolean;
  handle(ctx: RouteContext<Static<P>, Static<Q>, Static<B>>): unknown;
  /**
   * The body of the answer, from the entries alone: called after the append, and again, days later, when
   * the same Idempotency-Key comes back; it must not look at anything else.
   */
  respond?(
    entries: readonly AnsweredEntry[],
    disclosures: readonly Readonly<Record<string, Disclosure>>[],
    request: RouteRequest<Static<P>, Static<Q>, Static<B>>,
    kept?: unknown,
  ): object;
}

/** A declared route, whatever its schemas. */
export type Route = RouteDeclaration;

/** Types a handler by its route's own schemas; returns the declaration as it is. */
export function route<
  P extends TSchema = TSchema,
  Q extends TSchema = TSchema,
  B extends TSchema = TSchema,
>(declaration: RouteDeclaration<P, Q, B>): Route {
  return declaration;
}

/**
 * What a key may do (gateway/API.md §3.1). `carrier` acts for its tenant. `operator` also decides for it: policies,
 * holds, findings. `service` also acts on the service itself; only the command line issues it. `insured` reads its
 * own mandate and compliance, and verifies.
 */
export const ROLES = ['carrier', 'insured', 'operator', 'service'] as const;

/** One of them. */
export type Role = (typeof ROLES)[number];

/** Who asks. A request without a key is the tenant `public`. */
export interface Caller {
  /** The tenant's name; never enters the log. */
  readonly tenant: string;
  /** What stands in the log for the tenant: 22 base64url characters, its own in each kind of log. */
  readonly tenant_ref: string;
  /** The log that this caller's entries go to. */
  readonly kind: Kind;
  readonly sandbox: boolean;
  /** Null for `public`. */
  readonly role: Role | null;
  /** As the key was issued: a plugin may ask for one by itself, no route of the gateway does. */
  readonly scopes: readonly string[];
  /** Names the key without being it; null for `public`. */
  readonly key_id: string | null;
  readonly ip: string;
  /**
   * The name of this tenant's session in the newest log, or in the log of an origin: 43 base64url characters
   * (log/FORMAT.md §4). Each log has another.
   */
  sessionRef(session_id: string, origin?: string): string;
}

/**
 * Who may call a route.
 * `open`: without a key the caller is `public`, in the log that takes its entries as ANONYMOUS_WRITES says. `key`: 401 without one.
 * `read`: public; no key is needed. `{roles}`: a key of one of these roles. An invalid key is 401 on all of them,
 * whatever they declare. Which roles a key may have is said by `RouteDeclaration.roles`.
 */
export type Access = 'open' | 'key' | 'read' | { readonly roles: readonly Role[] };

/**
 * An object of an answer: the members of one that is text already, and after them `more`. It may stand anywhere in
 * an answer; as a member of the answer itself it goes out as the text that it is.
 */
export class ReadyJson {
  // Not members that a spread would take into an answer.
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

  /** Where the text cannot be taken over as it is. */
  toJSON(): object {
    return Object.assign(JSON.parse(this.text) as JsonObject, this.more);
  }
}

/** Content type of every page. */
export const HTML = 'text/html; charset=utf-8';

/** Sends a rendered page; it is asked for again each time unless the route has said otherwise. */
export function sendPage(ctx: ParameterizedContext<object>, html: string): void {
  if (ctx.response.get('Cache-Control') === '') ctx.set('Cache-Control', 'no-cache');
  ctx.set('Content-Type', HTML);
  ctx.body = Buffer.from(html);
}

/** What of a page's route is its own. */
export type PageDeclaration<P extends TSchema, Q extends TSchema> = Pick<
  RouteDeclaration<P, Q>,
  'path' | 'summary' | 'description' | 'params' | 'query' | 'errors'
>;

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
