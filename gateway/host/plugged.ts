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
import type { Logger } from 'pino';
import type { LoopWatch } from './loop-watch.ts';
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

/**
 * Joins the checked setups of plugins, by plugin name. A part that fails when it is asked is left out of the answer and
 * logged with the name of the plugin, so that the answer about the others is given. `retention` is not: an erasure that
 * cannot be checked is refused.
 *
 * @throws PluginError for a member that two plugins add
 */
export function joinSetups(
  setups: ReadonlyMap<string, Setup>,
  { logger, loop }: { readonly logger: Logger; readonly loop: LoopWatch },
): Plugged {
  const left = (plugin: string, part: string, err: unknown): void => {
    logger.error({ err, plugin, part }, 'a part of a plugin failed, and its answer is left out');
  };
  /** What a part of each plugin that has it gives, in order; nothing for one that fails. */
  const each = <T>(part: 'status' | 'partner', ask: (setup: Setup) => T): T[] =>
    [...setups].flatMap(([plugin, setup]) => {
      if (setup[part] === undefined) return [];
      try {
        return [loop.timed(loop.part(plugin, part), () => ask(setup))];
      } catch (error) {
        left(plugin, part, error);
        return [];
      }
    });
  const eachLater = async <T>(
    part: 'metrics' | 'kitVectors',
    ask: (setup: Setup) => T | Promise<T>,
  ): Promise<T[]> => {
    const given = [...setups].map(async ([plugin, setup]) => {
      if (setup[part] === undefined) return [];
      try {
        return [await loop.running(loop.part(plugin, part), async () => ask(setup))];
      } catch (error) {
        left(plugin, part, error);
        return [];
      }
    });
    return (await Promise.all(given)).flat();
  };
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
    status: () => each('status', (setup) => setup.status?.() ?? []).flat(),
    metrics: {
      members,
      async read() {
        const read = await eachLater('metrics', (setup) => setup.metrics?.read());
        return Object.assign({}, ...read) as JsonObject;
      },
    },
    retention: all.flatMap(({ retention = [] }) => retention),
    menu: all.flatMap(({ menu = [] }) => menu),
    console: all.flatMap(({ console: panels = [] }) => panels),
    visitorRoutes: all.flatMap(({ visitorRoutes = [] }) => visitorRoutes),
    partner(slug) {
      const found = each('partner', (setup) => setup.partner?.(slug) ?? null);
      return found.find((partner) => partner !== null) ?? null;
    },
    async kitVectors(kind, index) {
      const ask = (setup: Setup) => setup.kitVectors?.(kind, index) ?? [];
      return (await eachLater('kitVectors', ask)).flat();
    },
  };
}
