// The plugin contract, version 2: what a plugin may import from the package, as `actlog/plugin` (plugins/GUIDE.md).
//
// A plugin is a value. It declares entry types (what may be logged, and how an entry changes the plugin's rows), and
// its `setup` returns what it adds to the service: routes, pages, commands, jobs, an API for other plugins. The gateway
// derives validation, limits, idempotency, metering, metrics and the OpenAPI operation from a route's declaration; its
// handler is an ordinary Koa handler. Plugins have no middleware and no event bus; they reach each other only by
// `host.use(plugin)`. Plugins of contract 1 are still accepted (gateway/host/contract-1.ts).
//
//   export default definePlugin({
//     contract: 2, name: 'notes', title: 'Notes',
//     types: [noteType],                 // notes.note.v1
//     setup: (host) => ({ routes: [route({ method: 'POST', path: '/notes', … })] }),
//   });

import type { Static, TSchema } from 'typebox';
import type {
  Appended,
  AppendOptions,
  CosePublicJwk,
  Disclosure,
  Draft,
  EntryType,
  Json,
  JsonObject,
  KeyAlgorithm,
  Kind,
  Sequenced,
} from '../../log/index.ts';
import type { Verifier } from '../../log/verify.ts';
import type { Carry } from './carry.ts';
import type { DeclaredError } from './errors.ts';
import type { LogView } from './log-view.ts';
import type { Caller, Route } from './route.ts';

/** The number of this contract. A host also accepts plugins of contract 1. */
export const CONTRACT = 2;

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
   * Renders a view of the plugin's `pageFolder`, such as `dashboard` of `dashboard.eta`, to a whole HTML document. The
   * template gets `data` as `it`, and every value that it writes is escaped.
   */
  page(view: string, data: PageData): string;
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

/** What a view gets, beside data of its own. */
export interface PageData extends Readonly<Record<string, unknown>> {
  readonly title: string;
  /** Path of the page, which the menu marks. */
  readonly here?: string;
  /** Scripts and style sheets of the page, by their names under `/static/`. */
  readonly scripts?: readonly string[];
  readonly styles?: readonly string[];
  /** Slug of the partner whose link led to the page; the footer names the partner. */
  readonly partner?: string | undefined;
}

/** A page in the menu of all pages. */
export interface MenuItem {
  readonly path: string;
  readonly name: string;
}

/**
 * A route that anyone may call without a key, under a second path: it acts in the sandbox log for one tenant that all
 * visitors share, whose texts are not kept (gateway/API.md §3.3, §3.4).
 */
export interface VisitorRoute {
  readonly path: string;
  readonly tag: string;
  /** Method and path of the route that answers, as it is declared: `POST /api/v1/classify`. */
  readonly target: string;
  /** The members of its body that a visitor may give; any other member is refused. */
  readonly members?: readonly string[];
  /** Schemas in place of those that the route has for these members. */
  readonly schemas?: Readonly<Record<string, TSchema>>;
  /** Members of the example in place of those of the route's own. */
  readonly example?: JsonObject;
  /** What the example needs, in one sentence of the description. */
  readonly needs?: string;
  /** The body that the route gets in place of the visitor's. */
  readonly body?: JsonObject;
}

/** What a plugin adds to the service: what its `setup` returns. Every member is optional. */
export interface Setup<T = unknown> {
  /** Matched in this order, after the gateway's own routes. */
  readonly routes?: readonly Route[];
  /** Routes that answer with HTML; they follow `routes`. */
  readonly pages?: readonly Route[];
  /**
   * The folder of its pages, `new URL('./pages/', import.meta.url)`: `<view>.eta` are the views of `host.page`; style
   * sheets, scripts and pictures (.css, .js, .svg, .txt) are served under `/static/` by their names. The build of the
   * package bundles each `<name>.ts` of a built-in plugin's folder as `<name>-page.js`.
   */
  readonly pageFolder?: URL;
  /** Its pages in the menu. */
  readonly menu?: readonly MenuItem[];
  /** Routes of the service that visitors may call. */
  readonly visitorRoutes?: readonly VisitorRoute[];
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
  /** Error codes of the plugin's own, made by `errorsOf`. */
  readonly errors?: Readonly<Record<string, DeclaredError>>;
  /**
   * Verifiers of the plugin's documents, for `actlog verify`. Pure and browser-safe: their module, `verify.ts`, imports
   * nothing but `actlog/verify`. Each has a `kind` that no other verifier has.
   */
  readonly verifiers?: readonly Verifier[];
  /** Keys of the plugin's own; made at the first start. Receipts are signed by the log, never by these. */
  readonly keys?: readonly KeyDeclaration[];
  /** Declared in both logs at start; each name begins with the plugin's own. */
  readonly types: readonly EntryType[];
  /** Which entries are events, and for whom (plugins/contract/plugin.ts). */
  readonly events?: readonly EventRule[];
  /**
   * What goes over from a closed log into its successor, which has taken no other entry yet: everything that a
   * tenant owns, owes or is limited to, and what must stay unique. Read from the closed log alone, so that a start
   * after a crash comes to the same; each is written once. A plugin with this hook has the type of `carriedType`
   * among its types (plugins/contract/carry.ts).
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

/** What a command gets. */
export interface CommandState<A = unknown> {
  /** Passed the command's schema. */
  readonly args: A;
  /** Appends one atomic group to the newest log of the kind. */
  readonly append: (
    kind: Kind,
    drafts: readonly Draft[],
    options?: Pick<AppendOptions, 'check'>,
  ) => Promise<readonly Appended[]>;
  /** What stands in the log for a tenant, registered there; `resource_missing` for a name without a key. */
  readonly tenantRef: (tenant: string, kind: Kind) => Promise<string>;
}

/** Bounds of `every_ms`: a second and 366 days. */
export const MIN_EVERY_MS = 1000;
export const MAX_EVERY_MS = 366 * 86_400_000;

/** A command as its author writes it; see `command`. */
export interface CommandDeclaration<A extends TSchema = TSchema> {
  /** `<plugin> <word>`: a verb of the admin socket. */
  readonly name: string;
  readonly summary: string;
  /** A TypeBox object. */
  readonly args: A;
  /** Arguments that work for the sandbox tenant `first`; the contract suite performs them, a week apart. */
  readonly example: Json;
  /**
   * Makes the command a job: the gateway also performs it by itself, without arguments, at its start and then this
   * often, from `MIN_EVERY_MS` to `MAX_EVERY_MS`. One run ends before the next begins; a run that fails is logged, and
   * the next one is at its usual time.
   */
  readonly every_ms?: number;
  /** Answers with what the command line shows; expected failures are ApiErrors. */
  perform(state: CommandState<Static<A>>): Promise<Json>;
}

/** A declared command, whatever its schema. */
export type Command = CommandDeclaration;

/** Types a command by its own schema; returns the declaration as it is. */
export function command<A extends TSchema>(declaration: CommandDeclaration<A>): Command {
  return declaration;
}

/** A command that the gateway also performs by the clock. */
export type Job = Command & { readonly every_ms: number };

/** Types a job by its own schema; returns the declaration as it is. */
export function job<A extends TSchema>(
  declaration: CommandDeclaration<A> & { readonly every_ms: number },
): Job {
  return declaration;
}

/**
 * What entries of one type are to the outside. The event of an entry goes to the subscriptions of its tenant that
 * name its type; when the entry has a `trigger_id`, also to those of that trigger, in the order of the entries;
 * and when it commits to a `webhook_url`, to that address. An event shows the receipt as the world sees it.
 */
export interface EventRule {
  /** One of the plugin's entry types. */
  readonly entry: string;
  /** All that `eventOf` may answer with: words of `a-z0-9_`, dots between them. */
  readonly events: readonly string[];
  /** The event that an entry is, by its statement alone; null when it is none. */
  eventOf(statement: JsonObject): string | null;
}

/** A signing key that a plugin declares: each kind of log gets its own, in a file of its own. */
export interface KeyDeclaration {
  /** `air`; names the key to the plugin, and its purpose to the world. */
  readonly name: string;
  readonly algorithm: KeyAlgorithm;
  /** Whether /crypto/jwks.json lists it, with its `purpose`. */
  readonly jwks: boolean;
}

/** One key of a plugin, private part inside. */
export interface PluginSigner {
  /** RFC 7638 thumbprint. */
  readonly kid: string;
  readonly jwk: CosePublicJwk;
  /** 64 bytes: Ed25519, or r and s of ES256. Off the event loop. */
  sign(bytes: Uint8Array): Promise<Uint8Array>;
  /** Of many short messages at once, in their order, for less than each alone would cost. */
  signAll(messages: readonly Uint8Array[]): Promise<readonly Uint8Array[]>;
}

/** Requests that leave this machine. Neither way follows a redirect. */
export interface Egress {
  /**
   * Why an address that came with a request would never be asked, by what stands in it alone: its scheme,
   * credentials, port, or a literal address that is not public. Null when it may be; what its name resolves
   * to is judged each time that something connects.
   */
  refusal(url: string): string | null;
  /**
   * `fetch` to an address of the operator's configuration, which may be http and private. A redirect is an
   * error, and so is a connection that takes longer than 10 s; the caller sets the time for the rest by
   * `signal`. The answer streams and has no limit of its own. Never for an address that came with a request.
   */
  readonly configured: typeof fetch;
}

/**
 * Counts of what is no entry, such as visits: kept by the gateway, durable, never signed, and no function of
 * the log, so that `reindex` leaves them alone. Names are the plugin's own.
 */
export interface Counters {
  /** Adds one. Resolves when that is on disk; a disk that refuses is reported to the operator, never here. */
  add(name: string): Promise<void>;
  /** What was added so far; 0 for a name that nobody counted. */
  get(name: string): number;
}

/** Limits of the configuration that a plugin's schemas and rules use (gateway/API.md §4.2). */
export interface Limits {
  /** Longest message that is classified, in UTF-8. */
  readonly message_bytes: number;
  /** Longest string that names something: `maxLength` of such members. */
  readonly string_chars: number;
  /** Largest object of a caller, as canonical JSON. */
  readonly metadata_bytes: number;
  readonly page_default: number;
  readonly page_max: number;
}
