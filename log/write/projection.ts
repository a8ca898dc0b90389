// What an entry changes in the rows of plugins, in its own batch: pure, so that a replay writes the same.
//
// The rules are code of plugins. What a rule throws ends the group that is being placed, before anything of it is
// signed or written, with `plugin_failed` and the name of the plugin; the core remembers when that happened, for its
// health. An error with a code, as ApiError and LogError have one, is a refusal by `admit` and no failure.

import type { Core } from './core.ts';
import type { Json } from '../encoding/json-types.ts';
import { pluginOf, type Watcher } from '../rules/declarations.ts';
import { isLogError, LogError } from '../errors.ts';
import { isBuiltin } from '../map/grammar.ts';
import type { RowReader, RowWriter, Sequenced } from '../types.ts';

/** A rule of a plugin as it may be written in JavaScript: it should return nothing. */
type Rule<R> = (entry: Sequenced, rows: R) => unknown;

/** Asks those who watch; what one throws refuses the group. */
export function admit(core: Core, entry: Sequenced): void {
  for (const { watch, name } of watchersOf(core, entry)) {
    try {
      const admits: Rule<RowReader> | undefined = watch.admit;
      finished(admits?.(entry, core.pluginRows));
    } catch (error) {
      throw isRefusal(error) ? error : failed(core, name, 'admit', error);
    }
  }
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
  const write = (name: string, rule: Rule<RowWriter> | undefined): void => {
    const plugin = pluginOf(name);
    if (rule === undefined || untouched?.has(plugin) === true) return;
    try {
      finished(rule(entry, new OwnRows(core, plugin, round)));
    } catch (error) {
      // A row that the rule asked for could not be read: the storage failed, not the plugin.
      throw isStorageFault(error) ? error : failed(core, name, 'project', error);
    }
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

/** A rule that goes on after it returned would write rows of no entry. */
function finished(result: unknown): void {
  if (!(result instanceof Promise)) return;
  // What it fails with later must not end the process.
  result.catch(() => undefined);
  throw new Error('it returns a promise, but it must have finished when it returns');
}

const isStorageFault = (error: unknown): boolean =>
  isLogError(error) && (error.code === 'store_corrupt' || error.code === 'log_unavailable');

/** An expected error says so by a code in lower case; those of Node.js and of JavaScript itself have another or none. */
const isRefusal = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  typeof error.code === 'string' &&
  /^[a-z][a-z_]*$/.test(error.code);

function failed(core: Core, type: string, rule: string, cause: unknown): LogError {
  const plugin = pluginOf(type);
  core.failures.set(plugin, core.clock.monotonic());
  const what = cause instanceof Error ? cause.message : String(cause);
  const place = cause instanceof Error ? /^ +at (.*)$/m.exec(cause.stack ?? '')?.[1] : undefined;
  const where = place === undefined ? '' : `, at ${place}`;
  const message = `plugin ${plugin}: ${rule} of ${type} throws: ${what}${where}`;
  return new LogError('plugin_failed', message, { cause });
}

/** Deeper values are refused: they would be circular. */
const MAX_DEPTH = 64;

/** Whether a value is stored as it is: what JSON has no form of would end the whole round, or come back changed. */
function isStorable(value: unknown, depth = 0): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true;
    case 'number':
      return Number.isFinite(value);
    case 'object':
      if (value === null) return true;
      if (depth === MAX_DEPTH) return false;
      if (Array.isArray(value)) return value.every((one) => isStorable(one, depth + 1));
      for (const name in value) {
        const member = (value as Readonly<Record<string, unknown>>)[name];
        if (member !== undefined && !isStorable(member, depth + 1)) return false;
      }
      return true;
    default:
      return false;
  }
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
    if (!isStorable(value)) throw new Error(`the value of the row ${key} is not JSON`);
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
