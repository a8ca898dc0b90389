// What is wrong with a plugin, said in one line with the plugin's name; and whose a route is, so that whoever finds
// a fault in it later can say so too.

import type { Route } from '../../plugins/contract/index.ts';

/** A plugin that does not keep the contract. */
export class PluginError extends Error {
  override readonly name = 'PluginError';

  constructor(plugin: string, reason: string, options?: ErrorOptions) {
    super(`plugin ${plugin}: ${reason}`, options);
  }
}

const OWNERS = new WeakMap<Route, string>();

/** Remembers which plugin declared a route. */
export function own(plugin: string, route: Route): void {
  OWNERS.set(route, plugin);
}

/** The plugin that declared a route; `gateway` for those of the gateway itself. */
export const ownerOf = (route: Route): string => OWNERS.get(route) ?? 'gateway';

/**
 * What a part of a plugin gives when it is asked for it at the start; what it throws gets the plugin's name, and the
 * place of the throw, since nobody else can mend it.
 */
export function asked<T>(plugin: string, part: string, ask: () => T): T {
  try {
    return ask();
  } catch (error) {
    if (!(error instanceof Error)) throw new PluginError(plugin, `${part} throws ${String(error)}`);
    if (error instanceof PluginError) throw error;
    const place = /^ +at (.*)$/m.exec(error.stack ?? '')?.[1] ?? 'an unknown place';
    const reason = `${part} throws: ${error.message}, at ${place}`;
    throw new PluginError(plugin, reason, { cause: error });
  }
}

/** A list that a part of a plugin has to be; a promise of one is none. */
export function listOf(plugin: string, part: string, value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value as readonly unknown[];
  const promised = value instanceof Promise;
  // Nobody waits for it: what it fails with must not end the process before this refusal is read.
  if (promised) value.catch(() => undefined);
  throw new PluginError(
    plugin,
    `${part} must give a list, not ${promised ? 'a promise' : String(value)}`,
  );
}
