// Checks the routes of plugins before they are served. A plugin may be written in JavaScript, so its types are not
// trusted. Each fault is one line with the names of plugin and route.

import { ROLES } from '../../plugins/contract/index.ts';
import type { DeclaredError, Role, Route } from '../../plugins/contract/index.ts';
import { listOf, PluginError } from './plugin-error.ts';
import { PROBLEMS } from '../http/problems.ts';
import { compileSchema } from '../http/validation.ts';

const METHODS = ['GET', 'POST', 'DELETE'];
const ACCESS = ['open', 'key', 'read'];
const BUDGETS = ['write', 'read', 'log', 'none'];
const PATH = /^\/(?:[^\s?#:*{}]|\{\w+\}|\{\w+\*\}$)*$/;
/** Values of path and query are strings: a schema of these types would refuse them all. */
const NO_TEXT = ['integer', 'number', 'boolean', 'object', 'array', 'null'];

/**
 * Checks a route against the contract.
 *
 * @param codes error codes that the plugin and those that it requires declare
 * @throws PluginError for the first fault
 */
export function checkRoute(plugin: string, declared: Route, codes: ReadonlySet<string>): void {
  const route = declared as Partial<Route> | null;
  const { method, path } = route ?? {};
  if (route === null || typeof path !== 'string') {
    throw new PluginError(plugin, `a route has no path${told(route?.summary)}`);
  }
  const refuse = (reason: string, options?: ErrorOptions): never => {
    throw new PluginError(plugin, `route ${String(method)} ${path}: ${reason}`, options);
  };
  const { access, budget, tag, summary, aliases = [], errors = [] } = route;
  if (!METHODS.includes(String(method))) refuse(`the method must be one of ${METHODS.join(', ')}`);
  checkPath(path, refuse);
  for (const [name, text] of Object.entries({ tag, summary })) {
    if (typeof text !== 'string' || text === '') refuse(`has no ${name}`);
  }
  if (!isAccess(access)) {
    refuse(`access must be open, key, read or {roles} with some of ${ROLES.join(', ')}`);
  }
  if (route.roles !== undefined && (typeof access === 'object' || !areRoles(route.roles))) {
    refuse(`roles must be some of ${ROLES.join(', ')}, and need an access that is a word`);
  }
  if (budget !== undefined && !BUDGETS.includes(budget)) {
    refuse(`budget must be one of ${BUDGETS.join(', ')}`);
  }
  if (!['undefined', 'number', 'function'].includes(typeof route.cost)) {
    refuse('cost must be a number or a function of the request');
  }
  if (route.asksLive === true && access !== 'open') refuse('asksLive needs the access open');
  if (typeof route.handle !== 'function') refuse('has no handle');
  for (const name of ['respond', 'problem'] as const) {
    if (!['undefined', 'function'].includes(typeof route[name]))
      refuse(`${name} must be a function`);
  }
  checkResponses(route.responses, refuse);
  for (const code of listOf(plugin, `errors of route ${path}`, errors)) {
    if (typeof code === 'string' && Object.hasOwn(PROBLEMS, code)) continue;
    const named = String((code as Partial<DeclaredError> | null)?.code ?? code);
    if (typeof code !== 'object' || !codes.has(named)) {
      refuse(`errors has ${named}, which neither the plugin nor one that it requires declares`);
    }
  }
  if (route.idempotent === true) {
    if ((route.respond === undefined) !== (route.flat === true)) {
      refuse('is idempotent and needs either respond or flat');
    }
    if (route.body === undefined) refuse('is idempotent and needs a body schema');
  }
  if (route.batch === true && (route.idempotent !== true || method !== 'POST')) {
    refuse('batch needs the method POST and idempotent');
  }
  checkSchemas(route, refuse);
  const names = parametersOf(path);
  for (const alias of listOf(plugin, `aliases of route ${path}`, aliases)) {
    checkPath(alias, refuse);
    if (parametersOf(String(alias)).join() !== names.join())
      refuse('has an alias with other parameters');
  }
}

type Refuse = (reason: string, options?: ErrorOptions) => never;

function checkPath(path: unknown, refuse: Refuse): void {
  if (typeof path !== 'string' || !path.startsWith('/')) refuse('a path must start with a slash');
  if (!PATH.test(path)) {
    refuse(
      'a path has no : * ? # or spaces; a parameter is {id}, what is left of a path {rest*} at its end',
    );
  }
}

function checkResponses(responses: unknown, refuse: Refuse): void {
  const all: [string, unknown][] =
    typeof responses === 'object' && responses !== null ? Object.entries(responses) : [];
  if (all.length === 0) refuse('has no responses');
  for (const [status, response] of all) {
    if (!/^[1-5]\d\d$/.test(status)) refuse(`responses has ${status}, which is no status`);
    const { description } = (response ?? {}) as { readonly description?: unknown };
    if (typeof description !== 'string') refuse(`the response ${status} has no description`);
  }
}

function checkSchemas(route: Partial<Route>, refuse: Refuse): void {
  for (const place of ['params', 'query', 'body', 'headers'] as const) {
    const schema: unknown = route[place];
    if (schema === undefined) continue;
    if (typeof schema !== 'object' || schema === null) refuse(`${place} is no schema`);
    try {
      compileSchema(schema, place);
    } catch (cause) {
      refuse(`${place} is no strict JSON Schema: ${(cause as Error).message}`, { cause });
    }
    if (place !== 'params' && place !== 'query') continue;
    for (const [name, { type }] of Object.entries(propertiesOf(schema))) {
      if (NO_TEXT.includes(String(type))) {
        refuse(`${place} takes ${name} as ${String(type)}, but what comes there is a string`);
      }
    }
  }
  const names = parametersOf(route.path ?? '');
  const known = Object.keys(propertiesOf(route.params));
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    refuse(`the path has {${unknown}}, which params does not name: params is a schema of each`);
  }
  const elsewhere = known.find((name) => !names.includes(name));
  if (elsewhere !== undefined) refuse(`params names ${elsewhere}, which is not in the path`);
}

function propertiesOf(schema: unknown): Readonly<Record<string, { readonly type?: unknown }>> {
  const { properties = {} } = (schema ?? {}) as {
    readonly properties?: Readonly<Record<string, { readonly type?: unknown }>>;
  };
  return properties;
}

const parametersOf = (path: string): string[] =>
  [...path.matchAll(/\{(\w+)\*?\}/g)].map(([, name = '']) => name);

const told = (summary: unknown): string => (typeof summary === 'string' ? ` (${summary})` : '');

function isAccess(access: unknown): boolean {
  if (typeof access === 'string') return ACCESS.includes(access);
  const { roles } = (access ?? {}) as { readonly roles?: unknown };
  return areRoles(roles);
}

const areRoles = (roles: unknown): boolean =>
  Array.isArray(roles) && roles.length > 0 && roles.every((role) => ROLES.includes(role as Role));
