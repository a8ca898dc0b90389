// Checks the declarations of plugins before anything is opened. A plugin may be written in JavaScript, so its types are
// not trusted. Each fault is one line with the plugin's name.

import { checkEntryType } from '../../log/index.ts';
import { carriedName, CONTRACT } from '../../plugins/contract/index.ts';
import type {
  AnyPlugin,
  DeclaredError,
  AnyEntryType,
  EventRule,
  KeyDeclaration,
  Verifier,
} from '../../plugins/contract/index.ts';
import { PLUGINS } from '../../plugins/index.ts';
import { has, listOf, PluginError } from './plugin-error.ts';
import { PROBLEMS } from '../http/problems.ts';

const NAME = /^[a-z][a-z0-9-]*$/;
const EVENT = /^[a-z0-9_]{1,32}(\.[a-z0-9_]{1,32}){1,3}$/;
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
/** What the plugins of each contract declare beside these functions. */
const DECLARED = [
  ...['catalogs', 'tolls', 'layer'],
  ...[
    'contract',
    'name',
    'title',
    'requires',
    'settings',
    'errors',
    'verifiers',
    'keys',
    'types',
    'events',
  ],
];

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
  const unknown = Object.keys(given).find((part) => ![...DECLARED, ...parts].includes(part));
  if (unknown !== undefined) {
    refuse(`has the member ${unknown}, which contract ${String(contract)} does not have`);
  }
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
  for (const rule of listOf(name, 'events', events) as readonly (Partial<EventRule> | null)[]) {
    const entry = String(rule?.entry);
    if (!types.some((type) => type.name === entry)) {
      refuse(`has events of ${entry}, which is not a type of its own`);
    }
    for (const event of listOf(name, `the events of ${entry}`, rule?.events)) {
      if (!EVENT.test(String(event)))
        refuse(`has the event ${String(event)}, which must match ${EVENT.source}`);
    }
    if (!has(rule, 'eventOf')) refuse(`the events of ${entry} need the function eventOf`);
  }
}

function checkVerifiers(plugin: string, declared: unknown): void {
  const list = listOf(plugin, 'verifiers', declared) as readonly (Partial<Verifier> | null)[];
  for (const verifier of list) {
    const { kind, title } = verifier ?? {};
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
