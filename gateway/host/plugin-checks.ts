// Checks the declarations of plugins before anything is opened. A plugin may be written in JavaScript, so its types are
// not trusted. Each fault is one line with the plugin's name.

import { checkEntryType } from '../../log/index.ts';
import { carriedName, CONTRACT, MAX_EVERY_MS, MIN_EVERY_MS } from '../../plugins/contract/index.ts';
import type {
  AnyPlugin,
  Command,
  DeclaredError,
  AnyEntryType,
  EventRule,
  KeyDeclaration,
  Setup,
  Verifier,
} from '../../plugins/contract/index.ts';
import { PLUGINS } from '../../plugins/index.ts';
import { listOf, PluginError } from './plugin-error.ts';
import { PROBLEMS } from '../http/problems.ts';
import { checkRoute } from './route-checks.ts';
import { compileSchema } from '../http/validation.ts';

const NAME = /^[a-z][a-z0-9-]*$/;
const EVENT = /^[a-z0-9_]{1,32}(\.[a-z0-9_]{1,32}){1,3}$/;
/** The part of a command's name after the plugin's name. */
const WORDS = /^[a-z][a-z0-9-]*(?: [a-z][a-z0-9-]*)*$/;
/** Names whose types are the core's (log/FORMAT.md §2). A plugin may have them, but no types. */
const CORE = ['log', 'astl'];
/** Plugin names under which the gateway itself keeps keys (webhooks/webhooks.ts). */
const GATEWAY = 'gateway';
const CODE = /^(?=.{3,64}$)[a-z][a-z0-9]*(_[a-z0-9]+)+$/;
/** Statuses that come with headers or rules of the gateway. */
const OWN_STATUSES = [401, 405, 422, 429];
const ALGORITHMS = ['Ed25519', 'ES256'];

/** The functions of a plugin of each contract. */
const FUNCTIONS: ReadonlyMap<number, readonly string[]> = new Map([
  [1, ['routes', 'commands', 'api', 'carry']],
  [CONTRACT, ['setup', 'carry']],
]);
/** What a setup may have: lists, functions, and objects with their functions. */
const LISTS = ['routes', 'pages', 'commands', 'jobs', 'menu', 'console', 'visitorRoutes'] as const;
const CALLED = ['status', 'partner', 'kitVectors'] as const;

/** Throws `PluginError` for the first violation of the contract. */
export function checkPlugin(plugin: AnyPlugin): void {
  const { name, contract, types, requires = [], keys = [], events = [] } = plugin;
  if (typeof (name as unknown) !== 'string') {
    const { title } = plugin as { readonly title?: unknown };
    throw new PluginError(typeof title === 'string' ? title : '?', 'has no name');
  }
  const refuse = (reason: string, options?: ErrorOptions): never => {
    throw new PluginError(name, reason, options);
  };
  if (name === GATEWAY) refuse('must not have the name of the gateway');
  if (!NAME.test(name)) refuse(`must have a name that matches ${NAME.source}`);
  const parts = FUNCTIONS.get(contract);
  if (parts === undefined) {
    const known = [...FUNCTIONS.keys()].join(' and ');
    return refuse(`is written for contract ${String(contract)}, this host has ${known}`);
  }
  const given = plugin as unknown as Readonly<Record<string, unknown>>;
  parts.forEach((part, at) => {
    // The first one is required.
    if ((at === 0 || given[part] !== undefined) && !has(plugin, part)) {
      refuse(`${part} must be a function`);
    }
  });
  for (const other of listOf(name, 'requires', requires)) {
    if (typeof other !== 'string') refuse('requires must name plugins');
  }
  for (const key of listOf(name, 'keys', keys) as readonly (Partial<KeyDeclaration> | null)[]) {
    if (!NAME.test(key?.name ?? '')) refuse(`keys must have names that match ${NAME.source}`);
    if (!ALGORITHMS.includes(key?.algorithm ?? '')) {
      refuse(`the key ${String(key?.name)} must have the algorithm ${ALGORITHMS.join(' or ')}`);
    }
    const setting = key?.algorithm_setting;
    const { properties = {} } = (plugin.settings ?? {}) as { readonly properties?: object };
    if (setting !== undefined && !Object.hasOwn(properties, setting)) {
      refuse(`the key ${String(key?.name)} names the setting ${setting}, which is none of its own`);
    }
  }
  if (plugin.errors !== undefined) checkErrors(name, plugin.errors);
  if (plugin.verifiers !== undefined) checkVerifiers(name, plugin.verifiers);
  checkTypes(
    name,
    listOf(name, 'types', types),
    (PLUGINS as readonly AnyPlugin[]).includes(plugin),
  );
  if (plugin.carry !== undefined && carriedName(name, types) === undefined) {
    refuse(`carry needs the type ${name}.carried.v1 among its types`);
  }
  for (const rule of listOf(name, 'events', events) as readonly EventRule[]) {
    if (!types.some((type) => type.name === rule.entry)) {
      refuse(`has events of ${rule.entry}, which is not a type of its own`);
    }
    for (const event of listOf(name, `the events of ${rule.entry}`, rule.events)) {
      if (!EVENT.test(String(event)))
        refuse(`has the event ${String(event)}, which must match ${EVENT.source}`);
    }
    if (!has(rule, 'eventOf')) refuse(`the events of ${rule.entry} need the function eventOf`);
  }
}

function checkVerifiers(plugin: string, declared: unknown): void {
  for (const verifier of listOf(plugin, 'verifiers', declared) as readonly Partial<Verifier>[]) {
    const { kind, title } = verifier;
    if (typeof kind !== 'string' || !/^[a-z][a-z0-9_]{0,63}$/.test(kind)) {
      throw new PluginError(plugin, `has a verifier with the kind ${String(kind)}`);
    }
    if (typeof title !== 'string' || !has(verifier, 'originOf') || !has(verifier, 'check')) {
      throw new PluginError(plugin, `the verifier ${kind} needs title, originOf and check`);
    }
  }
}

/** Throws `PluginError` for the first error code that violates the contract. */
function checkErrors(plugin: string, declared: unknown): void {
  if (typeof declared !== 'object' || declared === null || Array.isArray(declared)) {
    throw new PluginError(plugin, 'errors must be what errorsOf returns');
  }
  const errors = declared as Readonly<Record<string, Partial<DeclaredError> | null>>;
  for (const [name, error] of Object.entries(errors)) {
    const refuse = (reason: string): never => {
      throw new PluginError(plugin, `error ${name}: ${reason}`);
    };
    if (!CODE.test(name)) refuse(`the code must match ${CODE.source}`);
    if (error?.code !== name) return refuse('errors must be what errorsOf returns');
    if (Object.hasOwn(PROBLEMS, name)) refuse('the gateway itself has this code');
    const { status = 0, sentence } = error;
    const inRange = (status >= 400 && status <= 499) || (status >= 502 && status <= 504);
    if (!Number.isInteger(status) || !inRange || OWN_STATUSES.includes(status)) {
      refuse(`the status must be 400 to 499 or 502 to 504, and none of ${OWN_STATUSES.join(', ')}`);
    }
    if (typeof sentence !== 'string' || !/^[A-Z].*\.$/.test(sentence)) {
      refuse('needs a sentence, from a capital letter to a full stop');
    }
  }
}

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
  for (const part of LISTS) if (setup[part] !== undefined) listOf(plugin, part, setup[part]);
  for (const part of CALLED) {
    if (setup[part] !== undefined && !has(setup, part)) refuse(`${part} must be a function`);
  }
  const { routes = [], pages = [], commands = [], jobs = [], metrics, retention } = setup;
  if (setup.pageFolder !== undefined && !setup.pageFolder.href.endsWith('/')) {
    refuse('pageFolder must be the URL of a folder, with a slash at its end');
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
  if (metrics !== undefined && !has(metrics, 'read')) refuse('metrics need the function read');
  for (const part of ['holdOver', 'holdMark']) {
    if (retention !== undefined && !has(retention, part)) refuse(`retention needs ${part}`);
  }
}

function checkTypes(plugin: string, types: readonly unknown[], builtIn: boolean): void {
  const names = new Set<string>();
  /** Chain kind → its one member list, over all types of the plugin. */
  const kinds = new Map<string, string>();
  for (const type of types as readonly (Partial<AnyEntryType> | null)[]) {
    const { name, watch } = type ?? {};
    if (typeof name !== 'string') throw new PluginError(plugin, 'has a type without a name');
    if (!name.startsWith(`${plugin}.`) || CORE.includes(plugin)) {
      throw new PluginError(plugin, `declares the type ${name}, which is not its own`);
    }
    const refuse = (reason: string, options?: ErrorOptions): never => {
      throw new PluginError(plugin, `type ${name}: ${reason}`, options);
    };
    if (names.has(name)) refuse('is declared twice');
    names.add(name);
    try {
      // The tests of this package compile the schemas of its plugins.
      checkEntryType(type as AnyEntryType, !builtIn);
    } catch (cause) {
      refuse((cause as Error).message, { cause });
    }
    if (type !== null && 'project' in type && !has(type, 'project'))
      refuse('project must be a function');
    if (type !== null && 'sentence' in type && !has(type, 'sentence'))
      refuse('sentence must be a function');
    if (watch !== undefined && !has(watch, 'project')) {
      refuse('watch must have the function project');
    }
    for (const [kind = '', ...members] of (type as AnyEntryType).keys) {
      const list = members.join(', ');
      const known = kinds.get(kind) ?? list;
      if (known !== list)
        refuse(`the kind ${kind} is over ${known} in another type, here over ${list}`);
      kinds.set(kind, list);
    }
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
  if (every_ms === undefined) return;
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

const has = (value: unknown, name: string): boolean =>
  typeof (value as Readonly<Record<string, unknown>> | null)?.[name] === 'function';
