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
import type { ConfigSources } from './config.ts';
import type { Gateway } from './gateway.ts';
import { logView } from './log-view.ts';
import { checkCommand, checkPlugin } from './plugin-checks.ts';
import { asked, listOf, own, PluginError } from './plugin-error.ts';
import { pluginSettings } from './plugin-settings.ts';
import { checkRoute } from './route-checks.ts';

export { PluginError } from './plugin-error.ts';

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
    const { name } = plugin;
    apis.set(
      plugin,
      asked(name, 'api', () => plugin.api?.(host)),
    );
    const declared = asked(name, 'routes', () => plugin.routes(host));
    for (const route of listOf(name, 'routes', declared) as readonly Route[]) {
      checkRoute(name, route);
      own(name, route);
      routes.push(route);
    }
    const acts = asked(name, 'commands', () =>
      plugin.commands === undefined ? [] : plugin.commands(host),
    );
    for (const command of listOf(name, 'commands', acts) as readonly Command[]) {
      checkCommand(name, command);
      if (commands.some((other) => other.name === command.name)) {
        throw new PluginError(name, `has the command ${command.name} twice`);
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
    toll: (id) => toll(plugin.name, gateway.catalog('tolls.json') as JsonObject, id),
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
  { kind, tenant_ref, role }: Caller,
  entry_id: string,
): Promise<Readonly<Record<string, Disclosure>>> {
  // The tenant of an insured is its carrier: the carrier's texts are not for it.
  if (role === 'insured') return {};
  for (const log of served[kind]) {
    const index = log.indexOfEntry(entry_id);
    const text = index === null ? null : log.entry(index);
    if (text === null) continue;
    const owner = (JSON.parse(text) as JsonObject)['tenant_ref'];
    return owner === tenant_ref ? disclosures.open(served[kind], entry_id) : {};
  }
  return {};
}

function toll(plugin: string, catalog: JsonObject, id: string): { id: string; micro_usd: number } {
  const usd = (catalog['tolls_usd'] as JsonObject)[id];
  if (typeof usd !== 'number')
    throw new PluginError(plugin, `catalogs/tolls.json has no toll ${id}`);
  return { id, micro_usd: Math.round(usd * 1_000_000) };
}
