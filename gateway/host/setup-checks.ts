// Checks what the `setup` of a plugin returned, before anything of it is used: its parts, commands and jobs. Each fault is
// one line with the names of plugin and member.

import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import { MAX_EVERY_MS, MIN_EVERY_MS } from '../../plugins/contract/index.ts';
import type { Command, Setup } from '../../plugins/contract/index.ts';
import { compileSchema } from '../http/validation.ts';
import { has, listOf, PluginError } from './plugin-error.ts';
import { checkRoute } from './route-checks.ts';

/** The part of a command's name after the plugin's name. */
const WORDS = /^[a-z][a-z0-9-]*(?: [a-z][a-z0-9-]*)*$/;

const Text = Type.String({ minLength: 1 });
const Path = Type.String({ pattern: '^/' });

/** Lists whose items have no functions. */
const SHAPES = {
  menu: Type.Object({ path: Path, name: Text, lead: Type.Optional(Text) }),
  console: Type.Object({
    ...{ id: Text, title: Text, list: Path, empty: Text, heading: Text },
    receipt: Type.Optional(Text),
    facts: Type.Array(Type.Object({ name: Text, member: Text })),
    actions: Type.Optional(
      Type.Array(
        Type.Object({
          ...{ name: Text, path: Path, body: Type.Object({}) },
          ask: Type.Optional(Type.Object({ member: Text, question: Text })),
        }),
      ),
    ),
  }),
  visitorRoutes: Type.Object({
    path: Path,
    tag: Text,
    target: Type.String({ pattern: '^(GET|POST|DELETE) /' }),
    members: Type.Optional(Type.Array(Text)),
    schemas: Type.Optional(Type.Object({})),
    example: Type.Optional(Type.Object({})),
    needs: Type.Optional(Text),
    body: Type.Optional(Type.Object({})),
  }),
};

/** What a setup may have: lists, functions, and objects with their functions. */
const LISTS = ['routes', 'pages', 'commands', 'jobs', 'menu', 'console', 'visitorRoutes'] as const;
const CALLED = ['status', 'partner', 'kitVectors'] as const;
const PARTS = [...LISTS, ...CALLED, 'pageFolder', 'api', 'metrics', 'retention'];

/**
 * Checks what `setup` returned.
 *
 * @param codes error codes that routes of the plugin may name: its own, and those of plugins that it requires
 * @throws PluginError for the first fault
 */
export function checkSetup(plugin: string, setup: Setup, codes: ReadonlySet<string>): void {
  const given = setup as unknown;
  if (typeof given !== 'object' || given === null || given instanceof Promise) {
    if (given instanceof Promise) given.catch(() => undefined);
    const found = given instanceof Promise ? 'a promise' : String(given);
    throw new PluginError(plugin, `setup must return an object, not ${found}`);
  }
  const refuse = (reason: string): never => {
    throw new PluginError(plugin, reason);
  };
  const unknown = Object.keys(setup).find((part) => !PARTS.includes(part));
  if (unknown !== undefined) refuse(`setup gives ${unknown}, which is no part of a setup`);
  for (const part of LISTS) if (setup[part] !== undefined) listOf(plugin, part, setup[part]);
  for (const part of CALLED) {
    if (setup[part] !== undefined && !has(setup, part)) refuse(`${part} must be a function`);
  }
  const { routes = [], pages = [], commands = [], jobs = [], metrics, retention } = setup;
  const { pageFolder } = setup as { readonly pageFolder?: unknown };
  const isFolder = pageFolder instanceof URL && /^file:.*\/$/.test(pageFolder.href);
  if (pageFolder !== undefined && !isFolder) {
    refuse('pageFolder must be the file URL of a folder, with a slash at its end');
  }
  for (const [part, item] of Object.entries(SHAPES)) {
    checkShape(plugin, part, item, (setup as Readonly<Record<string, unknown>>)[part]);
  }
  for (const route of [...routes, ...pages]) checkRoute(plugin, route, codes);
  for (const command of [...commands, ...jobs]) checkCommand(plugin, command);
  for (const { name, every_ms } of commands) {
    if (every_ms !== undefined)
      refuse(`command ${name}: has every_ms: a command with every_ms must be listed in jobs`);
  }
  for (const { name, every_ms } of jobs as readonly Command[]) {
    if (every_ms === undefined) refuse(`job ${name}: has no every_ms`);
  }
  if (metrics !== undefined) {
    if (!has(metrics, 'read')) refuse('metrics need the function read');
    for (const [name, schema] of Object.entries((metrics.members as object | undefined) ?? {})) {
      try {
        compileSchema(schema as TSchema, name);
      } catch (cause) {
        refuse(`the metric ${name} has no strict JSON Schema: ${(cause as Error).message}`);
      }
    }
  }
  for (const part of ['holdOver', 'holdMark']) {
    if (retention !== undefined && !has(retention, part)) refuse(`retention needs ${part}`);
  }
}

/** Checks the items of a list against their schema; the message names the item and its member. */
function checkShape(plugin: string, part: string, item: TSchema, list: unknown): void {
  if (list === undefined) return;
  try {
    compileSchema(Type.Object({ [part]: Type.Array(item) }), part)({ [part]: list });
  } catch (cause) {
    throw new PluginError(plugin, (cause as Error).message, { cause });
  }
}

/** Throws `PluginError` for the first command or job that violates the contract. */
function checkCommand(plugin: string, declared: Command): void {
  const command = declared as Partial<Command> | null;
  const { name, summary, args, every_ms } = command ?? {};
  if (typeof name !== 'string') throw new PluginError(plugin, 'has a command without a name');
  const refuse = (reason: string, options?: ErrorOptions): never => {
    throw new PluginError(plugin, `command ${name}: ${reason}`, options);
  };
  if (!name.startsWith(`${plugin} `)) {
    throw new PluginError(plugin, `has the command ${name}, which is not its own`);
  }
  if (!WORDS.test(name.slice(plugin.length + 1))) {
    refuse(`its name must be the plugin's and words that match ${WORDS.source}`);
  }
  if (typeof summary !== 'string' || summary === '') refuse('has no summary');
  if (!has(command, 'perform')) refuse('perform must be a function');
  const validate = argumentsOf(args, refuse);
  if (every_ms !== undefined) checkInterval(every_ms, validate, refuse);
  try {
    validate(command?.example);
  } catch (cause) {
    refuse(`example does not have the arguments that args declares: ${(cause as Error).message}`);
  }
}

function checkInterval(
  every_ms: number,
  validate: (value: unknown) => void,
  refuse: (reason: string) => never,
): void {
  if (!Number.isSafeInteger(every_ms) || every_ms < MIN_EVERY_MS || every_ms > MAX_EVERY_MS) {
    const [least, most] = [String(MIN_EVERY_MS), String(MAX_EVERY_MS)];
    refuse(
      `every_ms must be an integer of milliseconds from ${least} (1 s) to ${most} (366 days), not ${String(every_ms)}`,
    );
  }
  try {
    validate({});
  } catch (cause) {
    refuse(`has every_ms, so it is performed without arguments: ${(cause as Error).message}`);
  }
}

function argumentsOf(
  args: Command['args'] | undefined,
  refuse: (reason: string, options?: ErrorOptions) => never,
): (value: unknown) => void {
  if (args === undefined || (args as { readonly type?: unknown }).type !== 'object') {
    return refuse('args must be a TypeBox object');
  }
  try {
    return compileSchema(args, 'args');
  } catch (cause) {
    return refuse(`args is no strict JSON Schema: ${(cause as Error).message}`, { cause });
  }
}
