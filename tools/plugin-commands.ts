// The commands of plugins on the command line: `actlog <plugin> <word> --<argument> <value>`. Their arguments become
// options. They are asked of the running server, or of the plugins that PLUGINS names.

import { parseArgs } from 'node:util';
import { Option } from 'commander';
import type { Command } from 'commander';
import { administer } from './administer.ts';
import { acting, CommandError, EXIT, settingsOf, withData } from './command-line.ts';
import type { DataOptions } from './command-line.ts';

/** A command as the verb `plugin commands` lists it. */
interface Listed {
  readonly name: string;
  readonly summary: string;
  readonly args: {
    readonly properties?: Readonly<Record<string, Argument>>;
    readonly required?: readonly string[];
  };
}

/** Schema of an argument. */
interface Argument {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Argument[];
}

/**
 * Adds the commands of a plugin, if the first word of the command line is the name of one and no command of actlog.
 *
 * @param args the command line without the program
 */
export async function addPluginCommands(program: Command, args: readonly string[]): Promise<void> {
  const [word = ''] = args;
  const known = ['help', ...program.commands.map((command) => command.name())];
  if (!/^[a-z][a-z0-9-]*$/.test(word) || known.includes(word)) return;
  const { values } = parseArgs({
    args: [...args],
    strict: false,
    options: { data: { type: 'string' }, config: { type: 'string' } },
  });
  const options = values as DataOptions;
  const commands = await commandsOf(word, options);
  if (commands.length === 0) return;
  const group = program.command(word).description(`Commands of the plugin ${word}.`);
  for (const command of commands) addCommand(group, word, command);
}

async function commandsOf(plugin: string, options: DataOptions): Promise<readonly Listed[]> {
  const { askServer } = await import('../gateway/tenants/admin-socket.ts');
  const { config } = await settingsOf(options);
  const verb = 'plugin commands';
  const answered = await askServer(config.DATA_DIR, verb, { plugin });
  if (answered !== null) return answered.result as unknown as readonly Listed[];
  if (config.PLUGINS.length === 0) return [];
  // A word that names no plugin opens no data folder.
  const { externalPlugins } = await import('../gateway/host/external-plugins.ts');
  const plugins = await externalPlugins(config.PLUGINS);
  if (!plugins.some(({ name }) => name === plugin)) return [];
  return administer<readonly Listed[]>(options, verb, { plugin });
}

function addCommand(group: Command, plugin: string, { name, summary, args }: Listed): void {
  const command = withData(group.command(name.slice(plugin.length + 1)).description(summary));
  const { properties = {}, required = [] } = args;
  const members = Object.entries(properties).map(([member, schema]) => {
    const option = optionOf(member, schema);
    command.addOption(option.makeOptionMandatory(required.includes(member)));
    return [member, option.attributeName(), schema] as const;
  });
  command.action(
    acting(EXIT.failed, async (options: DataOptions & Readonly<Record<string, unknown>>) => {
      const given = members.flatMap(([member, attribute, schema]) => {
        const value = options[attribute];
        return value === undefined ? [] : [[member, valueOf(member, schema, value)] as const];
      });
      const answer = await administer<unknown>(options, name, Object.fromEntries(given) as never);
      console.log(JSON.stringify(answer, null, 2));
      return EXIT.ok;
    }),
  );
}

function optionOf(member: string, schema: Argument): Option {
  const flag = `--${member.replaceAll('_', '-')}`;
  const description = schema.description ?? '';
  if (schema.type === 'boolean') return new Option(flag, description);
  const option = new Option(`${flag} <value>`, description);
  const choices = choicesOf(schema).map(String);
  return choices.length > 0 ? option.choices(choices) : option;
}

/** The literals that an argument may be; empty for other types. */
function choicesOf({ enum: among, anyOf = [] }: Argument): readonly unknown[] {
  const literals = among ?? anyOf.map((one) => one.const);
  return literals.includes(undefined) ? [] : literals;
}

/** The argument that an option means: text for a string, else JSON. The command's schema checks it. */
function valueOf(member: string, schema: Argument, given: unknown): unknown {
  if (typeof given !== 'string' || schema.type === 'string') return given;
  const literal = choicesOf(schema).find((one) => String(one) === given);
  if (literal !== undefined) return literal;
  try {
    return JSON.parse(given) as unknown;
  } catch {
    const kind = schema.type ?? 'JSON';
    throw new CommandError(`--${member.replaceAll('_', '-')} must be ${kind}, not ${given}`);
  }
}
