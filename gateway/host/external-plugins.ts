// Loads external plugins by path or package name, and tells from a stack which plugin an error comes from.

import { createRequire } from 'node:module';
import { dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { AnyPlugin } from '../../plugins/contract/index.ts';
import { ConfigError } from '../config.ts';

/** Loads the default export of each; `PLUGINS` names the one that fails. */
export async function externalPlugins(names: readonly string[]): Promise<readonly AnyPlugin[]> {
  return Promise.all(names.map(load));
}

async function load(name: string): Promise<AnyPlugin> {
  let module: { default?: Partial<Record<string, unknown>> | null };
  let place: string;
  try {
    place = placeOf(name);
    module = (await import(place)) as typeof module;
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
  if (place.startsWith('file:')) {
    loaded.set(`${dirname(fileURLToPath(place))}${sep}`, plugin['name']);
  }
  return plugin as unknown as AnyPlugin;
}

/** The names of the loaded plugins, by the folders of their modules. */
const loaded = new Map<string, string>();

/** What to import: a path or a package of the operator's folder, else a package beside this one. */
function placeOf(name: string): string {
  if (name.startsWith('.') || isAbsolute(name)) return pathToFileURL(resolve(name)).href;
  try {
    const here = createRequire(join(process.cwd(), 'plugins.js'));
    return pathToFileURL(here.resolve(name)).href;
  } catch {
    return name;
  }
}

/** The plugin whose code is nearest to the place of an error, by its stack; null if none is in it. */
export function pluginIn(stack: string): string | null {
  for (const line of stack.split('\n')) {
    for (const [folder, name] of loaded) if (line.includes(folder)) return name;
    const own = /\/plugins\/([a-z][a-z0-9-]*)\/[^/]+\.[jt]s:\d/.exec(line)?.[1];
    if (own !== undefined && own !== 'contract') return own;
  }
  return null;
}
