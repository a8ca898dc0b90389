// Joins the setups of all plugins into one value. The gateway uses this value and names no plugin.

import type {
  Command,
  Component,
  ConsolePanel,
  FooterPartner,
  Job,
  JsonObject,
  Kind,
  MenuItem,
  PublicMetrics,
  Retention,
  Route,
  Setup,
  VisitorRoute,
} from '../../plugins/contract/index.ts';
import { PluginError } from './plugin-error.ts';

/** The parts of all plugins, in the order in which the plugins were set up. */
export interface Plugged {
  readonly routes: readonly Route[];
  /** All commands, jobs among them. */
  readonly commands: readonly Command[];
  readonly jobs: readonly Job[];
  status(): readonly Component[];
  readonly metrics: PublicMetrics;
  /** Checks of plugins that may forbid an erasure. */
  readonly retention: readonly Retention[];
  /** The first partner that a plugin knows by the slug; null if none does. */
  partner(slug: string): FooterPartner | null;
  readonly menu: readonly MenuItem[];
  readonly console: readonly ConsolePanel[];
  readonly visitorRoutes: readonly VisitorRoute[];
  kitVectors(kind: Kind, index: number): Promise<readonly JsonObject[]>;
}

/** Joins the checked setups of plugins, by plugin name. Throws `PluginError` for a member that two plugins add. */
export function joinSetups(setups: ReadonlyMap<string, Setup>): Plugged {
  const all = [...setups.values()];
  const commands = new Map<string, Command>();
  const members: Record<string, PublicMetrics['members'][string]> = {};
  for (const [plugin, setup] of setups) {
    for (const command of [...(setup.commands ?? []), ...(setup.jobs ?? [])]) {
      if (commands.has(command.name)) {
        throw new PluginError(plugin, `has the command ${command.name} twice`);
      }
      commands.set(command.name, command);
    }
    for (const [name, schema] of Object.entries(setup.metrics?.members ?? {})) {
      if (Object.hasOwn(members, name)) {
        throw new PluginError(plugin, `adds the metric ${name}, which another plugin has`);
      }
      members[name] = schema;
    }
  }
  return {
    routes: all.flatMap(({ routes = [], pages = [] }) => [...routes, ...pages]),
    commands: [...commands.values()],
    jobs: all.flatMap(({ jobs = [] }) => jobs),
    status: () => all.flatMap((setup) => setup.status?.() ?? []),
    metrics: {
      members,
      async read() {
        const read = await Promise.all(all.map(async (setup) => setup.metrics?.read()));
        return Object.assign({}, ...read) as JsonObject;
      },
    },
    retention: all.flatMap(({ retention = [] }) => retention),
    menu: all.flatMap(({ menu = [] }) => menu),
    console: all.flatMap(({ console: panels = [] }) => panels),
    visitorRoutes: all.flatMap(({ visitorRoutes = [] }) => visitorRoutes),
    partner(slug) {
      for (const setup of all) {
        const found = setup.partner?.(slug) ?? null;
        if (found !== null) return found;
      }
      return null;
    },
    async kitVectors(kind, index) {
      const vectors = await Promise.all(
        all.map(async (setup) => (await setup.kitVectors?.(kind, index)) ?? []),
      );
      return vectors.flat();
    },
  };
}
