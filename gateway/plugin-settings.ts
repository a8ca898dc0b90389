// Settings that plugins declare: their values from environment and file, validated; and their rows of the
// settings table. A member of the file that nobody declared refuses to start.

import type { Plugin } from '../plugins/contract.ts';
import { ConfigError, SETTINGS } from './config.ts';
import type { ConfigSources, SettingRow } from './config.ts';
import { schemaCompiler } from './validation.ts';

interface SettingsSchema {
  readonly properties?: Readonly<
    Record<string, { type?: string; pattern?: string; default?: unknown; description?: string }>
  >;
}

const membersOf = (plugin: Plugin) =>
  Object.entries((plugin.settings as SettingsSchema | undefined)?.properties ?? {});

/** The settings of each plugin by its name. Throws `ConfigError`. */
export function pluginSettings(
  plugins: readonly Plugin[],
  sources: ConfigSources,
): ReadonlyMap<string, Readonly<Record<string, unknown>>> {
  const settings = new Map<string, Record<string, unknown>>();
  const declared = new Set<string>();
  const compile = schemaCompiler();
  for (const plugin of plugins) {
    const values: Record<string, unknown> = {};
    for (const [name, schema] of membersOf(plugin)) {
      if (name in SETTINGS || !/^[A-Z][A-Z0-9_]*$/.test(name)) {
        throw new ConfigError(
          `plugin ${plugin.name} declares the setting ${name}, which it must not`,
        );
      }
      declared.add(name);
      const value = sources.env[name] ?? sources.rest[name] ?? schema.default;
      if (value !== undefined && value !== '') values[name] = value;
    }
    if (plugin.settings !== undefined) {
      try {
        compile(plugin.settings, 'settings')(values);
      } catch (cause) {
        throw new ConfigError(`plugin ${plugin.name}: ${(cause as Error).message}`, { cause });
      }
    }
    settings.set(plugin.name, values);
  }
  const unknown = Object.keys(sources.rest).find((name) => !declared.has(name));
  if (unknown !== undefined) throw new ConfigError(`${unknown} is no setting`);
  return settings;
}

/** The plugins' rows of the settings table. */
export function pluginSettingRows(plugins: readonly Plugin[]): SettingRow[] {
  return plugins.flatMap((plugin) =>
    membersOf(plugin).map(([name, schema]) => ({
      name,
      type: schema.type ?? 'string',
      standard: typeof schema.default === 'string' ? schema.default : '',
      description: schema.description ?? '',
    })),
  );
}
