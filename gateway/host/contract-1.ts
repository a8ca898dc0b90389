// Plugins of contract 1 as plugins of contract 2, for one release: `routes`, `commands` and `api` become one `setup`.

import { CONTRACT } from '../../plugins/contract/index.ts';
import type {
  AnyPlugin,
  Command,
  Job,
  Plugin,
  Route,
  Setup,
} from '../../plugins/contract/index.ts';
import { asked, listOf } from './plugin-error.ts';

/** The plugin by contract 2; one that is already is returned as it is. */
export function adapted(plugin: AnyPlugin): Plugin {
  if (plugin.contract === CONTRACT) return plugin;
  const { name, title, requires, settings, errors, verifiers, keys, types, events } = plugin;
  const { catalogs, tolls, layer } = plugin;
  return {
    contract: CONTRACT,
    ...{ name, title, types },
    ...(requires === undefined ? {} : { requires }),
    ...(settings === undefined ? {} : { settings }),
    ...(errors === undefined ? {} : { errors }),
    ...(verifiers === undefined ? {} : { verifiers }),
    ...(keys === undefined ? {} : { keys }),
    ...(events === undefined ? {} : { events }),
    ...(catalogs === undefined ? {} : { catalogs }),
    ...(tolls === undefined ? {} : { tolls }),
    ...(layer === undefined ? {} : { layer }),
    ...(plugin.carry === undefined ? {} : { carry: plugin.carry.bind(plugin) }),
    setup(host): Setup {
      const api = asked(name, 'api', () => plugin.api?.(host));
      const routes = listOf(
        name,
        'routes',
        asked(name, 'routes', () => plugin.routes(host)),
      ) as readonly Route[];
      const commands = listOf(
        name,
        'commands',
        asked(name, 'commands', () => (plugin.commands === undefined ? [] : plugin.commands(host))),
      ) as readonly Command[];
      // What is no object is refused with the commands.
      const isJob = (one: Command | null): boolean => one?.every_ms !== undefined;
      return {
        api,
        routes,
        commands: commands.filter((one) => !isJob(one)),
        jobs: commands.filter(isJob) as readonly Job[],
      };
    },
  };
}
