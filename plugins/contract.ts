// The plugin contract, version 2: what a plugin may import from the package, as `actlog/plugin` (plugins/GUIDE.md).
//
// A plugin is a value. It declares entry types (what may be logged, and how an entry changes the plugin's rows), and
// its `setup` returns what it adds to the service: routes, pages, commands, jobs, an API for other plugins. The gateway
// derives validation, limits, idempotency, metering, metrics and the OpenAPI operation from a route's declaration; its
// handler is an ordinary Koa handler. Plugins have no middleware and no event bus; they reach each other only by
// `host.use(plugin)`. Plugins of contract 1 are still accepted (gateway/contract-1.ts).
//
//   export default definePlugin({
//     contract: 2, name: 'notes', title: 'Notes',
//     types: [noteType],                 // notes.note.v1
//     setup: (host) => ({ routes: [route({ method: 'POST', path: '/notes', … })] }),
//   });

import type { ParameterizedContext } from 'koa';
import type { Static, TSchema } from 'typebox';
import type {
  AppendOptions,
  Disclosure,
  Draft,
  EntryType,
  Json,
  JsonObject,
  Kind,
  Sequenced,
} from '../log/index.ts';
import type { Access, Caller, Role } from './caller.ts';
import type { Carry } from './carry.ts';
import type { Counters } from './counters.ts';
import type { Command, Job } from './command.ts';
import type { Egress } from './egress.ts';
import type { KeyDeclaration, PluginSigner } from './keys.ts';
import type { Limits } from './limits.ts';
import type { LogView } from './log-view.ts';
import type { EventRule } from './events.ts';
import type { ApiErrorCode } from './problem.ts';

export { ROLES } from './caller.ts';
export type { Access, Caller, Role } from './caller.ts';
export {
  answerWithPlace,
  carriedKind,
  carriedName,
  carriedType,
  eachRow,
  endedMs,
  logOfPlace,
} from './carry.ts';
export type { Carried, CarriedKind, CarriedPlace, Carry, RestsOn } from './carry.ts';
export type { Counters } from './counters.ts';
export * from './command.ts';
export type { Egress } from './egress.ts';
export type { KeyDeclaration, PluginSigner } from './keys.ts';
export type { Limits } from './limits.ts';
export type { Erasure, LogView } from './log-view.ts';
export type { EventRule } from './events.ts';
export { kindOf, kindsOf, LogName, LogOfEntry } from './log-choice.ts';
export { ApiError, isApiError } from './problem.ts';
export type { ApiErrorCode, ApiErrorOptions } from './problem.ts';
export { documentMembers, LookupDocument } from './proof-document.ts';
export { ReadyJson } from './ready-json.ts';
export * from './receipt-schema.ts';
export * from './schemas.ts';
export * from './statement-at.ts';
export { memberShapes } from './shape-of.ts';
export { SLUG, slugOf } from './slug.ts';
export { isLogError, LOG_KINDS, type Json, type JsonObject } from '../log/index.ts';
export type {
  ChainKey,
  Disclosure,
  Draft,
  EntryType,
  Kind,
  Link,
  RowReader,
  RowWriter,
  SequencePoint,
  Sequenced,
  SurfaceReader,
  Watch,
} from '../log/index.ts';

/** Requests that cost as much, or more, are heavy: of one caller one runs at a time. */
export const HEAVY_COST = 5;

/** The number of this contract. A host also accepts plugins of contract 1. */
export const CONTRACT = 2;

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
  readonly param?: string;
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
  readonly errors?: readonly ApiErrorCode[];
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

/** What the gateway gives a plugin at boot. */
export interface PluginHost {
  /** The plugin's own name. */
  readonly name: string;
  /** The plugin's settings, validated against its `settings` schema. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly limits: Limits;
  /** The newest log of the kind. */
  log(kind: Kind): LogView;
  /** Every log of the kind that is served, oldest first. */
  logs(kind: Kind): readonly LogView[];
  /** The `api` of another plugin, found by its name, which must be listed in `requires`. */
  use<T>(plugin: AnyPlugin<T>): T;
  /**
   * What still opens the commitments of an entry of the caller's own; none of another tenant's, of `public`, or
   * where they were destroyed.
   */
  disclosed(caller: Caller, entry_id: string): Promise<Readonly<Record<string, Disclosure>>>;
  /** A document of catalogs/, by its path there: `catalog('tolls.json')`. */
  catalog(path: string): Json;
  /** The toll of a governed act, for a draft; the id must stand in catalogs/tolls.json. */
  toll(id: string): { readonly id: string; readonly micro_usd: number };
  /** The only way to other machines. */
  readonly egress: Egress;
  /** The plugin's keys of this name for a kind of log: the first one signs, the others have. */
  signers(kind: Kind, name: string): readonly [PluginSigner, ...PluginSigner[]];
  readonly counters: Counters;
  /**
   * Renders a view of gateway/views/ (`clear/dashboard`) to a whole HTML document; every value is escaped.
   * `title` stands in the head; `scripts` and `styles` name files under `/static/`.
   */
  page(view: string, data: { readonly title: string } & Readonly<Record<string, unknown>>): string;
  /** Milliseconds of wall-clock time; tests set it. */
  now(): number;
  /** An absolute address of this service: `url('/verify')`. */
  url(path: string): string;
}

/** A part of the service that a plugin watches; /health, /readyz and /status.json show it. */
export interface Component {
  /** Stable. */
  readonly id: string;
  readonly name: string;
  /** Null when it works; otherwise what is wrong, in words for the public: it names no folder and no host. */
  readonly fault: string | null;
  /** Whether the service is useless without it. */
  readonly vital: boolean;
}

/** Members that a plugin adds to the answer of /metrics/public. */
export interface PublicMetrics {
  /** Schema of each member, by name. */
  readonly members: Readonly<Record<string, TSchema>>;
  /** Exactly those members, as of now. */
  read(): JsonObject | Promise<JsonObject>;
}

/** Who forbids that the private values behind an entry are erased (gateway/API.md §1.2). */
export interface Retention {
  /** The entry that holds what an entry of this statement commits to; null when none does. */
  holdOver(kind: Kind, statement: JsonObject): Promise<{ readonly entry_id: string } | null>;
  /** Whole name of the row that every new hold of the tenant changes: an erasure that sees it change looks again. */
  holdMark(tenant_ref: string): string;
}

/** A partner in the footer of a page that its link led to. */
export interface FooterPartner {
  readonly name: string;
  readonly status_url: string;
}

/** What a plugin adds to the service: what its `setup` returns. Every member is optional. */
export interface Setup<T = unknown> {
  /** Matched in this order, after the gateway's own routes. */
  readonly routes?: readonly Route[];
  /** Routes that answer with HTML; they follow `routes`. */
  readonly pages?: readonly Route[];
  /** What other plugins get from `host.use`. */
  readonly api?: T;
  /** What the operator may do to the plugin's part, from the command line. */
  readonly commands?: readonly Command[];
  /** Commands that the gateway also performs by the clock. */
  readonly jobs?: readonly Job[];
  /** Parts of the service that can fail; called for each answer that shows them. */
  status?(): readonly Component[];
  readonly metrics?: PublicMetrics;
  readonly retention?: Retention;
  /** The partner of the slug in a page's `partner` parameter; null for a slug that the plugin does not know. */
  partner?(slug: string): FooterPartner | null;
  /** Test vectors, made of a published entry of the newest log, for the offline verification kit. */
  kitVectors?(kind: Kind, index: number): Promise<readonly JsonObject[]>;
}

/** What plugins of both contracts declare. */
export interface PluginDeclarations {
  /** `^[a-z][a-z0-9-]*$`; the first part of its entry types, the prefix of its rows and its tags. */
  readonly name: string;
  readonly title: string;
  /** Names of the plugins that it uses; they are set up before it. */
  readonly requires?: readonly string[];
  /**
   * A TypeBox object, one member for each setting in upper snake case (`CLASSIFIER_URL`), read from the
   * environment and the configuration file: a string, an integer, a boolean (`true` or `false`), or a union of
   * literals. A `title` says in the table of settings what it holds; a member with `writeOnly: true` is a secret.
   */
  readonly settings?: TSchema;
  /** Keys of the plugin's own; made at the first start. Receipts are signed by the log, never by these. */
  readonly keys?: readonly KeyDeclaration[];
  /** Declared in both logs at start; each name begins with the plugin's own. */
  readonly types: readonly EntryType[];
  /** Which entries are events, and for whom (plugins/events.ts). */
  readonly events?: readonly EventRule[];
  /**
   * What goes over from a closed log into its successor, which has taken no other entry yet: everything that a
   * tenant owns, owes or is limited to, and what must stay unique. Read from the closed log alone, so that a start
   * after a crash comes to the same; each is written once. A plugin with this hook has the type of `carriedType`
   * among its types (plugins/carry.ts).
   */
  carry?(closed: LogView): AsyncIterable<Carry>;
}

/** A plugin: what `definePlugin` takes and returns. */
export interface Plugin<T = unknown> extends PluginDeclarations {
  readonly contract: typeof CONTRACT;
  /** Called once, when the logs are open and the plugins in `requires` are set up. */
  setup(host: PluginHost): Setup<T>;
}

/** A plugin of contract 1: a function for each part in place of `setup`. */
export interface EarlierPlugin<T = unknown> extends PluginDeclarations {
  readonly contract: 1;
  routes(host: PluginHost): readonly Route[];
  /** Commands, and jobs among them, which have `every_ms`. */
  commands?(host: PluginHost): readonly Command[];
  /** What other plugins get from `use`. Called once, before `routes`. */
  api?(host: PluginHost): T;
}

/** What a host accepts. */
export type AnyPlugin<T = unknown> = Plugin<T> | EarlierPlugin<T>;

/** Types a plugin and returns it as it is; the host checks it at boot. */
export function definePlugin<T = unknown>(plugin: Plugin<T>): Plugin<T>;
export function definePlugin<T = unknown>(plugin: EarlierPlugin<T>): EarlierPlugin<T>;
export function definePlugin<T>(plugin: AnyPlugin<T>): AnyPlugin<T> {
  return plugin;
}

/** The entries of a group that stand before a draft, by type; a convenience for `members` functions. */
export function before(group: readonly Sequenced[], type: string): Sequenced | undefined {
  return group.findLast((entry) => entry.type === type);
}
