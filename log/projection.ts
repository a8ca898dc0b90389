// What an entry changes in the rows of plugins, in its own batch: pure, so that a replay writes the same.
// design/architecture.md, plugins/.

import type { Core } from './core.ts';
import { pluginOf, type Watcher } from './declarations.ts';
import { isBuiltin } from './map/grammar.ts';
import type { EntryType, RowWriter, Sequenced } from './types.ts';

/** Asks those who watch; what one throws refuses the group. */
export function admit(core: Core, entry: Sequenced): void {
  for (const { watch } of watchersOf(core, entry)) watch.admit?.(entry, core.pluginRows);
}

/**
 * Writes the plugins' rows of one entry: those of its own type, then those of who watches. The rows of
 * `untouched` plugins stay as they are.
 */
export function project(
  core: Core,
  entry: Sequenced,
  round: number,
  untouched?: ReadonlySet<string>,
): void {
  const { type } = entry;
  const write = (name: string, rule: EntryType['project']): void => {
    const plugin = pluginOf(name);
    if (untouched?.has(plugin) !== true) rule?.(entry, writerOf(core, plugin, round));
  };
  if (!isBuiltin(type)) write(type, core.declarations.of(type).project);
  for (const { watch, name } of watchersOf(core, entry)) write(name, watch.project);
}

/**
 * Those who see an entry: declared before it, as a reindex must find it. Only entries of tenants are
 * watched: a map head is not whole when it is placed.
 */
function watchersOf(core: Core, { statement, index }: Sequenced): readonly Watcher[] {
  if (statement['tenant_ref'] === undefined) return [];
  return core.declarations.watchers.filter(({ since }) => since < index);
}

/** The plugin's own rows, as `project` may write them. */
function writerOf(core: Core, plugin: string, round: number): RowWriter {
  const own = (key: string): string => {
    if (!key.startsWith(`${plugin}/`))
      throw new Error(`plugin ${plugin} writes the row ${key} of another`);
    return key;
  };
  return {
    get: (key) => core.pluginRows.get(key),
    put: (key, value) => {
      core.pluginRows.set(own(key), value, round);
    },
    del: (key) => {
      core.pluginRows.set(own(key), null, round);
    },
  };
}
