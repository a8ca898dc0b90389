// Loads external plugins by path or package name.

import { isAbsolute, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AnyPlugin } from '../../plugins/contract/index.ts';
import { ConfigError } from '../config.ts';

/** Loads the default export of each; `PLUGINS` names the one that fails. */
export async function externalPlugins(names: readonly string[]): Promise<readonly AnyPlugin[]> {
  return Promise.all(names.map(load));
}

async function load(name: string): Promise<AnyPlugin> {
  const path = name.startsWith('.') || isAbsolute(name);
  let module: { default?: Partial<Record<string, unknown>> | null };
  try {
    module = (await import(path ? pathToFileURL(resolve(name)).href : name)) as typeof module;
  } catch (cause) {
    throw new ConfigError(`PLUGINS: ${name} cannot be loaded: ${(cause as Error).message}`, {
      cause,
    });
  }
  const plugin = module.default;
  if (
    typeof plugin !== 'object' ||
    plugin === null ||
    !Array.isArray(plugin['types']) ||
    (typeof plugin['setup'] !== 'function' && typeof plugin['routes'] !== 'function')
  ) {
    throw new ConfigError(
      `PLUGINS: the default export of ${name} is not a plugin: a plugin has a list types and a function setup`,
    );
  }
  // Other errors name the plugin.
  if (typeof plugin['name'] !== 'string') {
    throw new ConfigError(`PLUGINS: the plugin of ${name} has no name`);
  }
  return plugin as unknown as AnyPlugin;
}
