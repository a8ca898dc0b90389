// The plugin host: checks the plugins against the contract at boot and gives each its PluginHost.
// Every fault of a plugin stops the start with an error that names it.

import type {
  AnyPlugin,
  Caller,
  Disclosure,
  JsonObject,
  Kind,
  LogView,
  Plugin,
  PluginHost,
  Setup,
} from '../../plugins/contract/index.ts';
import { adapted } from './contract-1.ts';
import type { Gateway } from '../gateway.ts';
import type { RenderPage } from '../pages/views.ts';
import { logView } from './log-view.ts';
import { joinSetups } from './plugged.ts';
import type { Plugged } from './plugged.ts';
import { checkCatalogs } from './plugin-catalogs.ts';
import { checkPlugin } from './plugin-checks.ts';
import { asked, own, PluginError } from './plugin-error.ts';
import { checkSetup } from './setup-checks.ts';
import type { PluginSettings } from './plugin-settings.ts';

export { PluginError } from './plugin-error.ts';

/** Kinds of documents of the log itself, findings about it, and the offline verification kit. */
const OWN_KINDS = [
  ...['absence', 'receipt', 'inclusion', 'checkpoint', 'tlog_proof', 'violation', 'cose', 'kit'],
];

/**
 * Checks contract, names, types and error codes of the plugins, adapts those of contract 1, and orders them so that each follows the
 * plugins that it requires.
 */
export function orderPlugins(plugins: readonly AnyPlugin[]): readonly Plugin[] {
  const byName = new Map<string, Plugin>();
  const codes = new Map<string, string>();
  const kinds = new Set(OWN_KINDS);
  for (const declared of plugins) {
    checkPlugin(declared);
    const plugin = adapted(declared);
    checkCatalogs(plugin);
    if (byName.has(plugin.name)) throw new PluginError(plugin.name, 'is there twice');
    byName.set(plugin.name, plugin);
    for (const code of Object.keys(plugin.errors ?? {})) {
      const other = codes.get(code);
      if (other !== undefined) {
        throw new PluginError(plugin.name, `declares the error ${code}, which ${other} declares`);
      }
      codes.set(code, plugin.name);
    }
    for (const { kind } of plugin.verifiers ?? []) {
      if (kinds.has(kind))
        throw new PluginError(plugin.name, `has the verifier ${kind} a second time`);
      kinds.add(kind);
    }
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
  for (const plugin of byName.values()) place(plugin, []);
  return [...ordered];
}

/** Sets the plugins up in order and joins what they add. The logs must be open. */
export function setUpPlugins(
  plugins: readonly AnyPlugin[],
  gateway: Gateway,
  settings: PluginSettings,
): Plugged {
  const ordered = orderPlugins(plugins);
  const setups = new Map<string, Setup>();
  const pages = new Map<string, RenderPage>();
  for (const plugin of ordered) {
    const { name } = plugin;
    const host = hostFor(plugin, gateway, settings.get(name) ?? {}, setups, pages);
    const setup = asked(name, 'setup', () => plugin.setup(host));
    const declaring = ordered.filter(
      (one) => one === plugin || plugin.requires?.includes(one.name),
    );
    const codes = declaring.flatMap(({ errors = {} }) => Object.keys(errors));
    checkSetup(name, setup, new Set(codes));
    for (const part of [setup.routes, setup.pages, setup.visitorRoutes]) {
      for (const route of part ?? []) own(name, route);
    }
    openPages(name, setup, gateway, pages);
    setups.set(name, setup);
  }
  return joinSetups(setups, gateway);
}

/** Opens the folder of a plugin's pages: its views, and what it serves under `/static/`. */
function openPages(
  plugin: string,
  { pageFolder }: Setup,
  gateway: Gateway,
  pages: Map<string, RenderPage>,
): void {
  if (pageFolder === undefined) return;
  const [taken] = gateway.statics.addFolder(pageFolder);
  if (taken !== undefined) {
    throw new PluginError(plugin, `serves /static/${taken}, which is there already`);
  }
  pages.set(plugin, gateway.viewsOf(pageFolder));
}

function hostFor(
  plugin: Plugin,
  gateway: Gateway,
  settings: Readonly<Record<string, unknown>>,
  setups: ReadonlyMap<string, Setup>,
  pages: ReadonlyMap<string, RenderPage>,
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
    use<T>(used: AnyPlugin<T> | { readonly name: string }): T {
      const { name } = used;
      const setup = setups.get(name);
      if (!(plugin.requires ?? []).includes(name) || setup === undefined) {
        throw new PluginError(plugin.name, `uses ${name} without requiring it`);
      }
      return setup.api as T;
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
    page(view, { partner, ...data }) {
      const render = pages.get(plugin.name);
      if (render === undefined) {
        throw new PluginError(plugin.name, `renders ${view}, and its setup has no pageFolder`);
      }
      const shown = partner === undefined ? null : gateway.plugged().partner(partner);
      return render(view, { ...data, partner: shown });
    },
    sentence: (statement) => gateway.sentence(statement),
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
    throw new PluginError(
      plugin,
      `catalogs/tolls.json has no toll ${id}, and no plugin declares it`,
    );
  return { id, micro_usd: Math.round(usd * 1_000_000) };
}
