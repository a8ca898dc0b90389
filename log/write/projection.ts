// Applies an entry to the rows of plugins, in the batch of the entry. The rules are pure, so that a replay writes the
// same rows.
//
// The rules are code of plugins. If one throws, the group that is being placed is refused with `plugin_failed` and the
// name of the plugin, before anything of it is signed or written; the health of the log reports the failure. An error
// with a code, such as an ApiError or a LogError, that `admit` throws is a refusal and not a failure.

import type { Core } from './core.ts';
import type { Json } from '../encoding/json.ts';
import { pluginOf, type Watcher } from '../rules/declarations.ts';
import { isLogError, LogError } from '../errors.ts';
import { isBuiltin } from '../map/grammar.ts';
import type { RowReader, RowWriter, Sequenced } from '../types.ts';

/** A rule of a plugin. It should return nothing, but a plugin in JavaScript may return anything. */
type Rule<R> = (entry: Sequenced, rows: R) => unknown;

/** Runs `admit` of every watch. An exception refuses the group. */
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
 * Writes the plugins' rows of one entry: first those of its own type, then those of the watches. The rows of plugins in
 * `untouched` are not changed.
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
      // The rule read a row that the store could not read: the storage failed, not the plugin.
      throw isStorageFault(error) ? error : failed(core, name, 'project', error);
    }
  };
  if (!isBuiltin(type)) write(type, core.declarations.of(type).project);
  for (const { watch, name } of watchersOf(core, entry)) write(name, watch.project);
}

/**
 * The watches that see an entry: those of types declared before it, so that a reindex runs the same ones. Only entries
 * of tenants are watched, because a map head is not complete when it is placed.
 */
function watchersOf(core: Core, { statement, index }: Sequenced): readonly Watcher[] {
  if (statement['tenant_ref'] === undefined) return [];
  const { watchers } = core.declarations;
  return watchers.every(({ since }) => since < index)
    ? watchers
    : watchers.filter(({ since }) => since < index);
}

/** Ends the access to rows: a rule that continued after it returned would write rows that belong to no entry. */
function finished(result: unknown): void {
  if (!(result instanceof Promise)) return;
  // A later rejection must not end the process.
  result.catch(() => undefined);
  throw new Error('it returns a promise, but it must have finished when it returns');
}

const isStorageFault = (error: unknown): boolean =>
  isLogError(error) && (error.code === 'store_corrupt' || error.code === 'log_unavailable');

/** An expected error has a code in lower case; errors of Node.js and of JavaScript have an upper-case code or none. */
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

/** Whether JSON represents a value exactly. Any other value would fail the round or be read back changed. */
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
