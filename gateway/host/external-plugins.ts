// Loads the plugins that PLUGINS names, by path or package name. Finds the plugin whose code is in the stack of an error.

import { existsSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { resolve as resolveFrom } from 'import-meta-resolve';
import type { AnyPlugin } from '../../plugins/contract/index.ts';
import { PLUGINS } from '../../plugins/index.ts';
import { ConfigError } from '../config.ts';

/**
 * Every plugin of a service: the built-in ones, `given`, and those that PLUGINS names. A plugin with the name of a
 * built-in one takes its place.
 */
export async function servedPlugins(
  names: readonly string[],
  given: readonly AnyPlugin[] = [],
): Promise<readonly AnyPlugin[]> {
  const added = [...given, ...(await externalPlugins(names))];
  const builtIn = PLUGINS.filter(({ name }) => !added.some((plugin) => plugin.name === name));
  return [...builtIn, ...added];
}

/** The names of the built-in plugins whose place others take. */
export const replacedIn = (plugins: readonly AnyPlugin[]): readonly string[] =>
  PLUGINS.filter((builtIn) => !plugins.includes(builtIn)).map(({ name }) => name);

/** A document type that only the package of its plugin can check. */
export interface CheckedElsewhere {
  readonly plugin: string;
  readonly title: string;
  readonly schemas: readonly string[];
}

/** The document types of plugins from other packages. The page /verify has the verifiers of this package alone. */
export function checkedElsewhere(plugins: readonly AnyPlugin[]): readonly CheckedElsewhere[] {
  const builtIn = new Set(
    PLUGINS.flatMap(({ verifiers = [] }) => verifiers.map(({ kind }) => kind)),
  );
  return plugins.flatMap(({ name, verifiers = [] }) =>
    verifiers
      .filter(({ kind }) => !builtIn.has(kind))
      .map(({ title, schemas = [] }) => ({ plugin: name, title, schemas })),
  );
}

/** Loads the default export of each. A `ConfigError` names the one that fails. */
export async function externalPlugins(names: readonly string[]): Promise<readonly AnyPlugin[]> {
  return Promise.all(names.map(load));
}

async function load(name: string): Promise<AnyPlugin> {
  const place = placeOf(name);
  let module: { default?: Partial<Record<string, unknown>> | null };
  try {
    module = (await import(place)) as typeof module;
  } catch (cause) {
    throw unloadable(name, cause);
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
  if (place.startsWith('file:')) loaded.set(codeOf(fileURLToPath(place)), plugin['name']);
  return plugin as unknown as AnyPlugin;
}

const unloadable = (name: string, cause: unknown): ConfigError =>
  new ConfigError(`PLUGINS: ${name} cannot be loaded: ${(cause as Error).message}`, { cause });

/** The URL of the module that a path or a package name means. */
function placeOf(name: string): string {
  const here = process.cwd();
  if (name.startsWith('.') || isAbsolute(name)) return placeOfPath(name, resolve(name));
  for (const from of [pathToFileURL(join(here, 'plugins.js')).href, import.meta.url]) {
    try {
      return resolveFrom(name, from);
    } catch (cause) {
      if (!isMissingPackage(cause)) throw unloadable(name, cause);
    }
  }
  throw new ConfigError(
    `PLUGINS: there is no package ${name} in ${here} or beside actlog: install it there with ` +
      `"npm install ${name}", or name a file by a path that begins with ./`,
  );
}

/** A path to a folder means the package in it. */
function placeOfPath(name: string, path: string): string {
  if (!existsSync(path))
    throw new ConfigError(`PLUGINS: ${name} cannot be loaded: no file ${path}`);
  if (!statSync(path).isDirectory()) return pathToFileURL(path).href;
  const require = createRequire(join(path, 'plugins.js'));
  try {
    const manifest = require('./package.json') as {
      readonly name?: string;
      readonly exports?: unknown;
    };
    if (manifest.exports === undefined || manifest.name === undefined) {
      return pathToFileURL(require.resolve('./')).href;
    }
    // A package finds itself by its name where it has exports.
    return resolveFrom(manifest.name, pathToFileURL(join(path, 'plugins.js')).href);
  } catch (cause) {
    throw unloadable(name, cause);
  }
}

/** Whether the package itself is missing; a package whose file is missing was not built. */
const isMissingPackage = (thrown: unknown): boolean =>
  thrown instanceof Error &&
  (thrown as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND' &&
  thrown.message.startsWith('Cannot find package');

/** The names of the loaded plugins, by where their code is: a folder with a separator at its end, or one file. */
const loaded = new Map<string, string>();

/** The folder of the package that a module is in; the module alone where that package contains actlog too. */
function codeOf(module: string): string {
  const own = fileURLToPath(import.meta.url);
  for (let folder = dirname(module); ; folder = dirname(folder)) {
    const inside = folder.endsWith(sep) ? folder : `${folder}${sep}`;
    if (own.startsWith(inside) || folder === dirname(folder)) return module;
    if (existsSync(join(folder, 'package.json'))) return inside;
  }
}

/** The plugin whose code is nearest to the place of an error, by its stack; null if none is in it. */
export function pluginIn(stack: string): string | null {
  for (const line of stack.split('\n')) {
    for (const [code, name] of loaded) {
      const at = line.indexOf(code);
      if (at >= 0 && !line.includes(`${sep}node_modules${sep}`, at + code.length - 1)) return name;
    }
    const own = /\/plugins\/([a-z][a-z0-9-]*)\/[^/]+\.[jt]s:\d/.exec(line)?.[1];
    if (own !== undefined && own !== 'contract') return own;
  }
  return null;
}
