// Settings that plugins declare: their values from environment and file, validated; and their rows of the
// settings table. A member of the file that no plugin declares stops the start.

import type { Plugin } from '../../plugins/contract/index.ts';
import { ConfigError, SETTINGS } from '../config.ts';
import type { ConfigSources, SettingRow } from '../config.ts';
import { compileSchema } from '../http/validation.ts';

interface SettingSchema {
  readonly type?: string;
  readonly title?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly { readonly const?: unknown }[];
  readonly writeOnly?: boolean;
  readonly default?: unknown;
  readonly description?: string;
}

interface SettingsSchema {
  readonly properties?: Readonly<Record<string, SettingSchema>>;
}

const membersOf = (plugin: Plugin) =>
  Object.entries((plugin.settings as SettingsSchema | undefined)?.properties ?? {});

/** The settings of each plugin by its name. */
export type PluginSettings = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

/** Reads the settings of each plugin. Throws `ConfigError`. */
export function pluginSettings(plugins: readonly Plugin[], sources: ConfigSources): PluginSettings {
  const settings = new Map<string, Record<string, unknown>>();
  const declared = new Set<string>();
  for (const plugin of plugins) {
    const values: Record<string, unknown> = {};
    for (const [name, schema] of membersOf(plugin)) {
      checkSetting(plugin.name, name, schema);
      declared.add(name);
      const text = sources.env[name] ?? sources.rest[name];
      const value = text === undefined || text === '' ? schema.default : valueOf(schema, text);
      if (value !== undefined) values[name] = value;
    }
    if (plugin.settings !== undefined) {
      if ((plugin.settings as SettingSchema | null)?.type !== 'object') {
        throw new ConfigError(`plugin ${plugin.name}: settings must be a TypeBox object`);
      }
      try {
        compileSchema(plugin.settings, 'settings')(values);
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
      type: typeOf(schema),
      standard: ['string', 'number', 'boolean'].includes(typeof schema.default)
        ? String(schema.default)
        : '',
      description: schema.description ?? '',
    })),
  );
}

function checkSetting(plugin: string, name: string, schema: SettingSchema): void {
  const declares = `plugin ${plugin}: declares the setting ${name}`;
  if (typeof (schema as unknown) !== 'object' || (schema as unknown) === null) {
    throw new ConfigError(`${declares}, which has no schema`);
  }
  if (name in SETTINGS) throw new ConfigError(`${declares}, which is the gateway's own`);
  if (!/^[A-Z][A-Z0-9_]*$/.test(name)) {
    throw new ConfigError(`${declares}, which is not in upper snake case`);
  }
  const texts = SCALARS.includes(schema.type ?? '') || choicesOf(schema).length > 0;
  if (!texts) {
    throw new ConfigError(
      `${declares}, which must be a string, an integer, a boolean or a union of literals`,
    );
  }
  const { default: standard } = schema;
  try {
    const validate = compileSchema(schema, name);
    if (standard !== undefined) validate(standard);
  } catch (cause) {
    const what = standard === undefined ? 'whose schema is not strict' : 'whose default is wrong';
    throw new ConfigError(`${declares}, ${what}: ${(cause as Error).message}`, { cause });
  }
}

/** Types of settings that a text can be. */
const SCALARS = ['string', 'integer', 'boolean'];

/** The literals that a setting allows; empty for other types. */
function choicesOf(schema: SettingSchema): readonly unknown[] {
  if (schema.const !== undefined) return [schema.const];
  const values = schema.enum ?? (schema.anyOf ?? []).map((one) => one.const);
  return values.includes(undefined) ? [] : values;
}

/**
 * Converts a text of the environment or the file. A text that is not a value of the type is returned unchanged, so that
 * the schema refuses it.
 */
function valueOf(schema: SettingSchema, text: string): unknown {
  if (schema.type === 'integer' && /^-?\d{1,15}$/.test(text)) return Number(text);
  if (schema.type === 'boolean' && /^(?:true|false)$/.test(text)) return text === 'true';
  return choicesOf(schema).find((value) => String(value) === text) ?? text;
}

/** The allowed values of a setting, for the table. */
function typeOf(schema: SettingSchema): string {
  const { type = 'string', title, anyOf, minimum, maximum } = schema;
  if (title !== undefined) return title;
  if (schema.writeOnly === true) return 'secret';
  if (type === 'boolean') return 'true \\| false';
  if (anyOf !== undefined) return anyOf.map((one) => String(one.const)).join(' \\| ');
  if (minimum === undefined || maximum === undefined) return type;
  return `${type} ${String(minimum)}..${String(maximum)}`;
}
