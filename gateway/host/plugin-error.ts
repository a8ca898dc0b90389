// Errors of plugins, as one line with the plugin's name; and the owner of each route, so that later errors can name the
// plugin too.

import type { Route, VisitorRoute } from '../../plugins/contract/index.ts';

const BRAND = Symbol.for('actlog.PluginError');

/** A plugin that violates the contract. */
export class PluginError extends Error {
  override readonly name = 'PluginError';
  readonly [BRAND] = true;

  constructor(plugin: string, reason: string, options?: ErrorOptions) {
    super(`plugin ${plugin}: ${reason}`, options);
  }
}

/** Whether a thrown value is a PluginError. */
export const isPluginError = (thrown: unknown): thrown is PluginError =>
  thrown instanceof Error && BRAND in thrown;

const OWNERS = new WeakMap<Route | VisitorRoute, string>();

/** Remembers which plugin declared a route. */
export function own(plugin: string, route: Route | VisitorRoute): void {
  OWNERS.set(route, plugin);
}

/** The plugin that declared a route; `gateway` for those of the gateway itself. */
export const ownerOf = (route: Route | VisitorRoute): string => OWNERS.get(route) ?? 'gateway';

/**
 * Calls a function of a plugin at the start. An exception becomes a `PluginError` with the plugin's name and the place
 * of the throw, because only the author of the plugin can fix it.
 */
export function asked<T>(plugin: string, part: string, ask: () => T): T {
  try {
    return ask();
  } catch (error) {
    if (!(error instanceof Error)) throw new PluginError(plugin, `${part} throws ${String(error)}`);
    if (isPluginError(error)) throw error;
    const place = /^ +at (.*)$/m.exec(error.stack ?? '')?.[1] ?? 'an unknown place';
    const reason = `${part} throws: ${error.message}, at ${place}`;
    throw new PluginError(plugin, reason, { cause: error });
  }
}

/** Requires a value of a plugin to be a list. A promise of a list is refused. */
export function listOf(plugin: string, part: string, value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value as readonly unknown[];
  const promised = value instanceof Promise;
  // Nothing awaits the promise: its rejection must not end the process before this error is printed.
  if (promised) value.catch(() => undefined);
  throw new PluginError(
    plugin,
    `${part} must give a list, not ${promised ? 'a promise' : String(value)}`,
  );
}

/** Whether a value, which a plugin in JavaScript may have made, has a function of this name. */
export const has = (value: unknown, name: string): boolean =>
  typeof (value as Readonly<Record<string, unknown>> | null | undefined)?.[name] === 'function';
