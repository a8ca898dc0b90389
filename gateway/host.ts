// The plugin host: checks the plugins against the contract at boot and gives each its PluginHost.
// Everything that is wrong with a plugin stops the start, with its name.

import type {
  Caller,
  Command,
  Disclosure,
  EntryType,
  JsonObject,
  Kind,
  LogView,
  Plugin,
  PluginHost,
  Route,
} from '../plugins/contract.ts';
import { CONTRACT } from '../plugins/contract.ts';
import type { ConfigSources } from './config.ts';
import type { Gateway } from './gateway.ts';
import { logView } from './log-view.ts';
import { pluginSettings } from './plugin-settings.ts';

const NAME = /^[a-z][a-z0-9-]*$/;
const EVENT = /^[a-z0-9_]{1,32}(\.[a-z0-9_]{1,32}){1,3}$/;
/** Names whose types are the core's (formats.md §2). A plugin may have them, but no types. */
const CORE = ['log', 'astl'];
/** Whose keys are the gateway's own (webhooks/webhooks.ts). */
const GATEWAY = 'gateway';

/** A plugin that does not keep the contract. */
export class PluginError extends Error {
  override readonly name = 'PluginError';

  constructor(plugin: string, reason: string) {
    super(`plugin ${plugin} ${reason}`);
  }
}

/** What the plugins add to the gateway. */
export interface Plugged {
  readonly routes: readonly Route[];
  readonly commands: readonly Command[];
  readonly types: readonly EntryType[];
  /** What a plugin gives to others. */
  api<T>(plugin: Plugin<T>): T;
}

/** Orders the plugins so that each stands after those it requires; checks contract, names and types. */
export function orderPlugins(plugins: readonly Plugin[]): readonly Plugin[] {
  const byName = new Map<string, Plugin>();
  for (const plugin of plugins) {
    checkPlugin(plugin);
    if (byName.has(plugin.name)) throw new PluginError(plugin.name, 'is there twice');
    byName.set(plugin.name, plugin);
  }
  const ordered = new Set<Plugin>();
  const place = (plugin: Plugin, path: readonly string[]): void => {
    if (ordered.has(plugin)) return;
    if (path.includes(plugin.name)) throw new PluginError(plugin.name, 'requires itself');
    for (const name of plugin.requires ?? []) {
      const required = byName.get(name);
      if (required === undefined)
        throw new PluginError(plugin.name, `requires ${name}, which is not there`);
      place(required, [...path, plugin.name]);
    }
    ordered.add(plugin);
  };
  for (const plugin of plugins) place(plugin, []);
  return [...ordered];
}

function checkPlugin({ name, contract, types, events }: Plugin): void {
  if (name === GATEWAY) throw new PluginError(name, 'must not have the name of the gateway');
  if (!NAME.test(name)) throw new PluginError(name, `must have a name that matches ${NAME.source}`);
  if ((contract as number) !== CONTRACT) {
    throw new PluginError(
      name,
      `is written for contract ${String(contract)}, this host has ${String(CONTRACT)}`,
    );
  }
  for (const type of types) {
    if (!type.name.startsWith(`${name}.`) || CORE.includes(name)) {
      throw new PluginError(name, `declares the type ${type.name}, which is not its own`);
    }
  }
  for (const rule of events ?? []) {
    if (!types.some((type) => type.name === rule.entry)) {
      throw new PluginError(name, `has events of ${rule.entry}, which is not a type of its own`);
    }
    for (const event of rule.events) {
      if (!EVENT.test(event)) {
        throw new PluginError(name, `has the event ${event}, which must match ${EVENT.source}`);
      }
    }
  }
}

/** Sets the plugins up in order: settings, api, routes. The logs must be open. */
export function setUpPlugins(
  plugins: readonly Plugin[],
  gateway: Gateway,
  sources: ConfigSources,
): Plugged {
  const ordered = orderPlugins(plugins);
  const settings = pluginSettings(ordered, sources);
  const apis = new Map<Plugin, unknown>();
  const routes: Route[] = [];
  const commands: Command[] = [];
  for (const plugin of ordered) {
    const host = hostFor(plugin, gateway, settings.get(plugin.name) ?? {}, apis);
    apis.set(plugin, plugin.api?.(host));
    for (const route of plugin.routes(host)) {
      checkRoute(plugin.name, route);
      routes.push(route);
    }
    for (const command of plugin.commands?.(host) ?? []) {
      if (!command.name.startsWith(`${plugin.name} `)) {
        throw new PluginError(plugin.name, `has the command ${command.name}, which is not its own`);
      }
      commands.push(command);
    }
  }
  return {
    routes,
    commands,
    types: ordered.flatMap(({ types }) => types),
    api<T>(plugin: Plugin<T>): T {
      if (!apis.has(plugin)) throw new PluginError(plugin.name, 'is not set up');
      return apis.get(plugin) as T;
    },
  };
}

function checkRoute(plugin: string, route: Route): void {
  const where = `route ${route.method} ${route.path}`;
  if (!route.path.startsWith('/'))
    throw new PluginError(plugin, `${where} must start with a slash`);
  if (route.idempotent === true && (route.respond === undefined) !== (route.flat === true)) {
    throw new PluginError(plugin, `${where} is idempotent and needs either respond or flat`);
  }
  if (route.idempotent === true && route.body === undefined) {
    throw new PluginError(plugin, `${where} is idempotent and needs a body schema`);
  }
  const names = [...route.path.matchAll(/\{(\w+)\*?\}/g)].map(([, name]) => name);
  for (const alias of route.aliases ?? []) {
    const given = [...alias.matchAll(/\{(\w+)\*?\}/g)].map(([, name]) => name);
    if (given.join() !== names.join())
      throw new PluginError(plugin, `${where} has an alias with other parameters`);
  }
}

function hostFor(
  plugin: Plugin,
  gateway: Gateway,
  settings: Readonly<Record<string, unknown>>,
  apis: ReadonlyMap<Plugin, unknown>,
): PluginHost {
  const { config } = gateway;
  const viewsOf = (kind: Kind): readonly LogView[] =>
    gateway.served[kind].map((log) => logView(gateway, log, plugin.name));
  const views = { live: viewsOf('live'), sandbox: viewsOf('sandbox') };
  return {
    name: plugin.name,
    settings,
    limits: {
      message_bytes: config.MAX_MESSAGE_BYTES,
      string_chars: config.MAX_STRING_CHARS,
      metadata_bytes: config.MAX_METADATA_BYTES,
      page_default: config.PAGE_DEFAULT,
      page_max: config.PAGE_MAX,
    },
    log(kind) {
      const newest = views[kind].at(-1);
      if (newest === undefined) throw new Error('a kind has at least one log');
      return newest;
    },
    logs: (kind) => views[kind],
    use<T>(other: Plugin<T>): T {
      if (!(plugin.requires ?? []).includes(other.name) || !apis.has(other)) {
        throw new PluginError(plugin.name, `uses ${other.name} without requiring it`);
      }
      return apis.get(other) as T;
    },
    disclosed: (caller, entry_id) => disclosed(gateway, caller, entry_id),
    catalog: (path) => gateway.catalog(path),
    toll: (id) => toll(gateway.catalog('tolls.json') as JsonObject, id),
    egress: gateway.egress,
    signers: (kind, name) => gateway.keys.signers(plugin.name, name, kind),
    counters: {
      add: (name) => gateway.counters.add(`${plugin.name}/${name}`),
      get: (name) => gateway.counters.get(`${plugin.name}/${name}`),
    },
    page: gateway.page,
    now: () => gateway.now(),
    url: (path) => `${gateway.base_url}${path}`,
  };
}

async function disclosed(
  { served, disclosures }: Gateway,
  { kind, tenant_ref }: Caller,
  entry_id: string,
): Promise<Readonly<Record<string, Disclosure>>> {
  for (const log of served[kind]) {
    const index = log.indexOfEntry(entry_id);
    const text = index === null ? null : log.entry(index);
    if (text === null) continue;
    const owner = (JSON.parse(text) as JsonObject)['tenant_ref'];
    return owner === tenant_ref ? disclosures.open(log, entry_id) : {};
  }
  return {};
}

function toll(catalog: JsonObject, id: string): { id: string; micro_usd: number } {
  const usd = (catalog['tolls_usd'] as JsonObject)[id];
  if (typeof usd !== 'number') throw new Error(`catalogs/tolls.json has no toll ${id}`);
  return { id, micro_usd: Math.round(usd * 1_000_000) };
}
