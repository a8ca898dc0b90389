// What an entry changes in the rows of plugins, in its own batch: pure, so that a replay writes the same.
// design/architecture.md, plugins/.

import type { Core } from './core.ts';
import type { Json } from './encoding/json-types.ts';
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
    if (untouched?.has(plugin) !== true) rule?.(entry, new OwnRows(core, plugin, round));
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
  const { watchers } = core.declarations;
  return watchers.every(({ since }) => since < index)
    ? watchers
    : watchers.filter(({ since }) => since < index);
}

/** The plugin's own rows, as `project` may write them. */
class OwnRows implements RowWriter {
  readonly #core: Core;
  readonly #plugin: string;
  readonly #round: number;

  constructor(core: Core, plugin: string, round: number) {
    this.#core = core;
    this.#plugin = plugin;
    this.#round = round;
  }

  get(key: string): Json | undefined {
    return this.#core.pluginRows.get(key);
  }

  put(key: string, value: Json): void {
    this.#core.pluginRows.set(this.#own(key), value, this.#round);
  }

  del(key: string): void {
    this.#core.pluginRows.set(this.#own(key), null, this.#round);
  }

  #own(key: string): string {
    const plugin = this.#plugin;
    if (key.startsWith(plugin) && key[plugin.length] === '/') return key;
    throw new Error(`plugin ${plugin} writes the row ${key} of another`);
  }
}
