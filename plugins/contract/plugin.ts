// The plugin contract, version 2: what a plugin declares, and what the host gives it (plugins/GUIDE.md).
//
// A plugin is a value. It declares entry types (the schema of their entries and the projection to the plugin's rows),
// and its `setup` returns routes, pages, commands, jobs and an API for other plugins. The gateway derives validation,
// limits, idempotency, metering, metrics and the OpenAPI operation from the declaration of a route; the handler is an
// ordinary Koa handler. Plugins have no middleware and no event bus; they call each other only through
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
import type { AnyEntryType } from './sentences.ts';

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
  /**
   * The `api` of another plugin, whose name must be listed in `requires`. A plugin of another package names it, and
   * states the part of its api that it uses: `use<Patterns>({ name: 'classify' })`.
   */
  use<T>(plugin: AnyPlugin<T> | { readonly name: string }): T;
  /**
   * The stored disclosures of an entry of the caller. Empty for an entry of another tenant or of `public`, and after
   * the disclosures were destroyed.
   */
  disclosed(caller: Caller, entry_id: string): Promise<Readonly<Record<string, Disclosure>>>;
  /** A document of catalogs/, by its path there, or one that a plugin declares: `catalog('tolls.json')`. */
  catalog(path: string): Json;
  /** The toll of a governed act, for a draft. The id must be in catalogs/tolls.json or declared by a plugin. */
  toll(id: string): { readonly id: string; readonly micro_usd: number };
  /** All requests to other machines must use it. */
  readonly egress: Egress;
  /** The plugin's keys of this name for a kind of log. The first is current; the others are retired. */
  signers(kind: Kind, name: string): readonly [PluginSigner, ...PluginSigner[]];
  readonly counters: Counters;
  /**
   * Renders a view of the plugin's `pageFolder`, such as `dashboard` for `dashboard.eta`, to a complete HTML document.
   * The template gets `data` as `it`. All values that it outputs are escaped.
   */
  page(view: string, data: PageData): string;
  /** What an entry says, in one sentence, by its statement without disclosures. */
  sentence(statement: JsonObject): string;
  /** Wall-clock time in milliseconds; tests control it. */
  now(): number;
  /** The absolute URL of a path of this service: `url('/verify')`. */
  url(path: string): string;
}

/** The state of a part of the service that a plugin monitors; shown by /health, /readyz and /status.json. */
export interface Component {
  /** Does not change between releases. */
  readonly id: string;
  readonly name: string;
  /** Null if the part works, else a description of the fault for the public, without paths and host names. */
  readonly fault: string | null;
  /** Whether the service cannot work without it. */
  readonly vital: boolean;
}

/** Members that a plugin adds to the answer of /metrics/public. */
export interface PublicMetrics {
  /** Schema of each member, by name. */
  readonly members: Readonly<Record<string, TSchema>>;
  /** The present values of exactly those members. */
  read(): JsonObject | Promise<JsonObject>;
}

/** Retention holds, which forbid the erasure of an entry's private values (gateway/API.md §1.2). */
export interface Retention {
  /** The hold that covers an entry with this statement; null if there is none. */
  holdOver(kind: Kind, statement: JsonObject): Promise<{ readonly entry_id: string } | null>;
  /** Full name of a row that every new hold of the tenant changes. An erasure repeats its check if the row changes. */
  holdMark(tenant_ref: string): string;
}

/** A partner, named in the footer of pages that a visitor opened by the partner's link. */
export interface FooterPartner {
  readonly name: string;
  readonly status_url: string;
}

/** The data of a view: these members and any of its own. */
export interface PageData extends Readonly<Record<string, unknown>> {
  readonly title: string;
  /** Path of the page, which the menu highlights. */
  readonly here?: string;
  /** Names of the page's scripts and style sheets under `/static/`. */
  readonly scripts?: readonly string[];
  readonly styles?: readonly string[];
  /** Whether people keep the page, as they keep an invoice: its style is then part of it, and a saved copy keeps it. */
  readonly kept?: boolean;
  /** Slug of the partner by whose link the visitor came; the footer names the partner. */
  readonly partner?: string | undefined;
}

/** A list of the plugin that /console shows to a tenant. The console asks for it with the tenant's key. */
export interface ConsolePanel {
  /** Unique among all panels. */
  readonly id: string;
  readonly title: string;
  /** Path of a GET that answers with `data`, an array of objects. A key that may not call it does not see the panel. */
  readonly list: string;
  /** What the panel says if the list is empty. */
  readonly empty: string;
  /** The member of a row that is its heading; `a.b` is a member of a member. */
  readonly heading: string;
  /** The member that is the entry id of a receipt, which the row links to. */
  readonly receipt?: string;
  /** Further members to show. Those whose name ends in `_ms` are times. Absent members are left out. */
  readonly facts: readonly { readonly name: string; readonly member: string }[];
  /** What can be done with a row, as POST requests. `{member}` in the path is a member of the row. */
  readonly actions?: readonly ConsoleAction[];
}

/** A button of a row. */
export interface ConsoleAction {
  readonly name: string;
  readonly path: string;
  readonly body: JsonObject;
  /** A member of the body that the user must write, and the question for it. */
  readonly ask?: { readonly member: string; readonly question: string };
}

/** A page in the menu of all pages. */
export interface MenuItem {
  readonly path: string;
  readonly name: string;
  /** The question that the page answers; the home page shows it as a button. */
  readonly lead?: string;
}

/**
 * A second path of a route that anyone may call without a key. It acts in the sandbox log for a tenant that all
 * visitors share; that tenant's disclosures are not stored (gateway/API.md §3.3, §3.4).
 */
export interface VisitorRoute {
  readonly path: string;
  readonly tag: string;
  /** Method and declared path of the route that answers: `POST /api/v1/classify`. */
  readonly target: string;
  /** The body members that a visitor may send; others are refused. */
  readonly members?: readonly string[];
  /** Schemas that replace those of the route for these members. */
  readonly schemas?: Readonly<Record<string, TSchema>>;
  /** Members that replace those of the route's example. */
  readonly example?: JsonObject;
  /** What must exist for the example to work, as one sentence of the description. */
  readonly needs?: string;
  /** The body that the route gets instead of the visitor's body. */
  readonly body?: JsonObject;
}

/** The result of `setup`: what the plugin adds to the service. Every member is optional. */
export interface Setup<T = unknown> {
  /** Matched in this order, after the gateway's own routes. */
  readonly routes?: readonly Route[];
  /** Routes that answer with HTML. They are matched after `routes`. */
  readonly pages?: readonly Route[];
  /**
   * The folder of the plugin's pages: `new URL('./pages/', import.meta.url)`. Files `<view>.eta` are the views of
   * `host.page`. Files .css, .js, .svg and .txt are served under `/static/` by their names. The build of this package
   * bundles each `<name>.ts` in the folder of a built-in plugin as `<name>-page.js`.
   */
  readonly pageFolder?: URL;
  /** Panels of the console of a tenant. */
  readonly console?: readonly ConsolePanel[];
  /** Pages of the plugin that are in the menu. */
  readonly menu?: readonly MenuItem[];
  /** Routes of the service that visitors may call. */
  readonly visitorRoutes?: readonly VisitorRoute[];
  /** The value that `host.use` returns to other plugins. */
  readonly api?: T;
  /** Commands that the operator can run from the command line. */
  readonly commands?: readonly Command[];
  /** Commands that the gateway also runs periodically. */
  readonly jobs?: readonly Job[];
  /** The parts of the service that the plugin monitors; called for each answer that shows them. */
  status?(): readonly Component[];
  readonly metrics?: PublicMetrics;
  readonly retention?: Retention;
  /** The partner with this slug (the `partner` parameter of pages); null for an unknown slug. */
  partner?(slug: string): FooterPartner | null;
  /** Makes test vectors for the offline verification kit from a published entry of the newest log. */
  kitVectors?(kind: Kind, index: number): Promise<readonly JsonObject[]>;
}

/** The toll of a governed act that a plugin adds. */
export interface TollDeclaration {
  /** At most 6 decimals. */
  readonly usd: number;
  /** The acts that are charged with it: `POST` and the path. */
  readonly acts: readonly string[];
  /** The outcomes that are charged; all unless given. */
  readonly outcomes?: readonly string[];
}

/** The place of a plugin in the stack of layers: `/api/v1/stack/catalog` lists it after the built-in layers. */
export interface LayerDeclaration {
  readonly name: string;
  readonly role: string;
  /** What is charged. */
  readonly unit: string;
  /** Path of its page, or of another public answer. */
  readonly path: string;
  /** Path of its catalog. */
  readonly api: string;
}

/** The declarations that both contracts share. */
export interface PluginDeclarations {
  /** `^[a-z][a-z0-9-]*$`. The first part of the names of its entry types, and the prefix of its rows and tags. */
  readonly name: string;
  readonly title: string;
  /** Names of the plugins that it uses. They are set up before it. */
  readonly requires?: readonly string[];
  /**
   * A TypeBox object with one member per setting, in upper snake case (`CLASSIFIER_URL`). Values come from the
   * environment and the configuration file. Each is a string, an integer, a boolean (`true` or `false`) or a union of
   * literals. `title` describes the setting in the table of settings; `writeOnly: true` marks a secret.
   */
  readonly settings?: TSchema;
  /**
   * Documents that `host.catalog` and `layerRoutes` read like those of catalogs/, by path: `<plugin>.json`, or a path
   * below `<plugin>/`. A catalog of a layer has `schema` and `apis` (`layerRoutes`).
   */
  readonly catalogs?: Readonly<Record<string, JsonObject>>;
  /** Tolls that the plugin adds, by id: the plugin's name and words, joined by underscores. `host.toll` reads them. */
  readonly tolls?: Readonly<Record<string, TollDeclaration>>;
  readonly layer?: LayerDeclaration;
  /** Error codes that the plugin adds, made by `errorsOf`. */
  readonly errors?: Readonly<Record<string, DeclaredError>>;
  /**
   * Verifiers of the plugin's documents, for `actlog verify`. They are pure and run in browsers: their module,
   * `verify.ts`, imports only `actlog/verify`. The `kind` of each is unique among all verifiers.
   */
  readonly verifiers?: readonly Verifier[];
  /** Signing keys of the plugin, generated at the first start. Receipts are signed only by the key of the log. */
  readonly keys?: readonly KeyDeclaration[];
  /** Declared in both logs at the start. Each name begins with the name of the plugin. */
  readonly types: readonly AnyEntryType[];
  /** The entries that are delivered to webhooks; see `EventRule`. */
  readonly events?: readonly EventRule[];
  /**
   * Yields the state that a closed log passes to its empty successor: everything that a tenant owns, owes or is limited
   * to, and names that must stay unique. It must depend only on the closed log, so that a start after a crash yields
   * the same items; an item that was already written is skipped. A plugin with this hook lists the type made by
   * `carriedType` (plugins/contract/carry.ts).
   */
  carry?(closed: LogView): AsyncIterable<Carry>;
}

/** A plugin of contract 2. */
export interface Plugin<T = unknown> extends PluginDeclarations {
  readonly contract: typeof CONTRACT;
  /** Called once, when the logs are open and the plugins in `requires` are set up. */
  setup(host: PluginHost): Setup<T>;
}

/** A plugin of contract 1, which has a function for each part instead of `setup`. */
export interface EarlierPlugin<T = unknown> extends PluginDeclarations {
  readonly contract: 1;
  routes(host: PluginHost): readonly Route[];
  /** Commands, and jobs among them, which have `every_ms`. */
  commands?(host: PluginHost): readonly Command[];
  /** Makes the value that `host.use` returns to other plugins. Called once, before `routes`. */
  api?(host: PluginHost): T;
}

/** A plugin of either contract. */
export type AnyPlugin<T = unknown> = Plugin<T> | EarlierPlugin<T>;

/** Types a plugin and returns it unchanged. The host checks it at the start. */
export function definePlugin<T = unknown>(plugin: Plugin<T>): Plugin<T>;
export function definePlugin<T = unknown>(plugin: EarlierPlugin<T>): EarlierPlugin<T>;
export function definePlugin<T>(plugin: AnyPlugin<T>): AnyPlugin<T> {
  return plugin;
}

/** The last entry of a type among the earlier entries of a group, for `members` functions of drafts. */
export function before(group: readonly Sequenced[], type: string): Sequenced | undefined {
  return group.findLast((entry) => entry.type === type);
}

/** The state that a command gets. */
export interface CommandState<A = unknown> {
  /** Arguments that have passed the command's schema. */
  readonly args: A;
  /** Appends one atomic group to the newest log of the kind. */
  readonly append: (
    kind: Kind,
    drafts: readonly Draft[],
    options?: Pick<AppendOptions, 'check'>,
  ) => Promise<readonly Appended[]>;
  /** The tenant's pseudonym in a log, registered if necessary; `resource_missing` for a tenant without a key. */
  readonly tenantRef: (tenant: string, kind: Kind) => Promise<string>;
}

/** Bounds of `every_ms`: a second and 366 days. */
export const MIN_EVERY_MS = 1000;
export const MAX_EVERY_MS = 366 * 86_400_000;

/** The declaration of a command; see `command`. */
export interface CommandDeclaration<A extends TSchema = TSchema> {
  /** `<plugin> <word>`: the verb on the command line and on the admin socket. */
  readonly name: string;
  readonly summary: string;
  /** A TypeBox object. */
  readonly args: A;
  /** Arguments that are valid for the sandbox tenant `first`. The contract suite runs the command with them weekly. */
  readonly example: Json;
  /**
   * Makes the command a job: the gateway also runs it, without arguments, at its start and then at this interval, from
   * `MIN_EVERY_MS` to `MAX_EVERY_MS`. Runs do not overlap. A failed run is logged; the next one runs at its usual time.
   */
  readonly every_ms?: number;
  /** Returns the JSON that the command line shows. Expected failures are thrown as ApiErrors. */
  perform(state: CommandState<Static<A>>): Promise<Json>;
}

/** A declared command with any schema. */
export type Command = CommandDeclaration;

/** Infers the types of a command from its schema. Returns the declaration unchanged. */
export function command<A extends TSchema>(declaration: CommandDeclaration<A>): Command {
  return declaration;
}

/** A command that the gateway also runs periodically. */
export type Job = Command & { readonly every_ms: number };

/** Infers the types of a job from its schema. Returns the declaration unchanged. */
export function job<A extends TSchema>(
  declaration: CommandDeclaration<A> & { readonly every_ms: number },
): Job {
  return declaration;
}

/**
 * Makes entries of one type webhook events. The event of an entry is delivered to the subscriptions of its tenant that
 * name the event; if the entry has a `trigger_id`, also to the subscriptions of that trigger, in the order of the
 * entries; and if it commits to a `webhook_url`, also to that URL. An event contains the public receipt.
 */
export interface EventRule {
  /** One of the plugin's entry types. */
  readonly entry: string;
  /** All events that `eventOf` can return: words of `a-z0-9_`, separated by dots. */
  readonly events: readonly string[];
  /** When they occur, as a sentence for the OpenAPI document. */
  readonly when?: string;
  /** The event of an entry, derived only from its statement; null if it has none. */
  eventOf(statement: JsonObject): string | null;
}

/** A signing key that a plugin declares. Each kind of log gets a separate key in a separate file. */
export interface KeyDeclaration {
  /** The name for `host.signers`, and the published purpose of the key, for example `air`. */
  readonly name: string;
  /** Of new keys. */
  readonly algorithm: KeyAlgorithm;
  /**
   * A setting of the plugin that overrides `algorithm`. If the newest key is of another algorithm, the start makes a key
   * of this one, which signs from then on; older keys stay published.
   */
  readonly algorithm_setting?: string;
  /**
   * Whether /crypto/jwks.json lists the key, with its `purpose`. A key that it does not list is for COSE messages: the
   * kit has it in `cose_keys`.
   */
  readonly jwks: boolean;
  /** A key of the JWKS that also signs COSE messages, so that `cose_keys` has it too. */
  readonly cose?: boolean;
}

/** A signing key of a plugin. It does not expose the private key. */
export interface PluginSigner {
  /** RFC 7638 thumbprint; of a key that the JWKS does not list, the RFC 9679 thumbprint in base64url. */
  readonly kid: string;
  readonly jwk: CosePublicJwk;
  /** A signature of 64 bytes: Ed25519, or r and s of ES256. Made in a worker thread. */
  sign(bytes: Uint8Array): Promise<Uint8Array>;
  /** Signatures of many short messages, in their order; cheaper than one call per message. */
  signAll(messages: readonly Uint8Array[]): Promise<readonly Uint8Array[]>;
}

/** Outgoing HTTP requests. Redirects are never followed. */
export interface Egress {
  /**
   * The reason why a URL from a request is refused: its scheme, credentials, port, or a literal address that is not
   * public. Null if the URL is acceptable. The addresses to which its host name resolves are checked at each
   * connection.
   */
  refusal(url: string): string | null;
  /**
   * `fetch` for a URL of the operator's configuration, which may use http and a private address. A redirect is an
   * error, and so is a connection that takes longer than 10 s to open; the caller limits the rest by `signal`. The size
   * of the answer is not limited. Must not be used for a URL from a request.
   */
  readonly configured: typeof fetch;
}

/**
 * Durable counters of things that are not logged, such as page visits. They are not signed and not derived from the
 * log, so `reindex` does not change them. Each plugin has its own names.
 */
export interface Counters {
  /** Adds one. Resolves when the count is on disk. A write error is reported to the operator and does not reject. */
  add(name: string): Promise<void>;
  /** The present count; 0 for an unused name. */
  get(name: string): number;
}

/** Configured limits that a plugin's schemas and rules use (gateway/API.md §4.2). */
export interface Limits {
  /** Largest message to classify, in bytes of UTF-8. */
  readonly message_bytes: number;
  /** `maxLength` of members that name something. */
  readonly string_chars: number;
  /** Largest caller-supplied object, in bytes of canonical JSON. */
  readonly metadata_bytes: number;
  readonly page_default: number;
  readonly page_max: number;
}
