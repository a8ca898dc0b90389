// From a request's path to its declared route. Paths without parameters are found in a map; the others
// go through @koa/router's matcher in the order of declaration, log reads first.

import { Router } from '@koa/router';
import { HTML } from '../../plugins/contract/index.ts';
import type { Role, Route } from '../../plugins/contract/index.ts';
import { partOf } from '../host/loop-watch.ts';
import type { Part } from '../host/loop-watch.ts';
import { ownerOf, PluginError } from '../host/plugin-error.ts';
import type { BatchRoute } from './batch-route.ts';
import { rolesOf } from './roles.ts';
import { compileUnknown } from './unknown-members.ts';
import type { FindUnknown } from './unknown-members.ts';
import { compileSchema, type Validate } from './validation.ts';

/** Which of the four rates counts a request; `none` is not counted. */
export type Budget = 'write' | 'read' | 'log' | 'none';

/** A declared route, ready to serve. */
export interface CompiledRoute {
  readonly route: Route;
  readonly part: Part;
  /** The path of the declaration, also when an alias matched. */
  readonly canonical: string;
  readonly alias: boolean;
  readonly budget: Budget;
  /** The roles whose keys may call it. */
  readonly roles: ReadonlySet<Role>;
  /** A GET that needs no key: any web page may read it. */
  readonly shared: boolean;
  readonly params: Validate | null;
  readonly query: Validate | null;
  readonly body: Validate | null;
  /** Unknown members of the query and of the body; null where they are allowed. */
  readonly unknownQuery: FindUnknown | null;
  readonly unknownBody: FindUnknown | null;
  /** The route of each line of a batch; null for other routes. */
  readonly lines: CompiledRoute | null;
}

/** The routes of a path, by method. */
export type PathRoutes = ReadonlyMap<string, CompiledRoute>;

/** A match: the routes of the path and the values of its parameters. */
export interface PathMatch {
  readonly routes: PathRoutes;
  readonly params: Readonly<Record<string, string>>;
}

const NO_PARAMS = Object.freeze({});

/** Finds routes by path. */
export class Dispatch {
  readonly #exact = new Map<string, Map<string, CompiledRoute>>();
  readonly #patterns = new Map<string, Map<string, CompiledRoute>>();
  /**
   * Patterns by their shape, such as `/r/{}`: two patterns of one shape are an error, because the second would never
   * match.
   */
  readonly #shapes = new Map<string, { readonly path: string; readonly route: Route }>();
  readonly #router = new Router({ sensitive: true, strict: true });

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      const compiled = compileRoute(route);
      this.#add(route.path, compiled);
      for (const alias of route.aliases ?? []) this.#add(alias, { ...compiled, alias: true });
    }
  }

  /** The routes of a path; null when there is none. */
  match(path: string): PathMatch | null {
    const exact = this.#exact.get(path);
    if (exact !== undefined) return { routes: exact, params: NO_PARAMS };
    const layer = this.#router.match(path, 'GET').path[0];
    if (layer === undefined) return null;
    const routes = this.#patterns.get(layer.path as string);
    if (routes === undefined) return null;
    return { routes, params: layer.params(path, layer.captures(path)) };
  }

  #add(path: string, compiled: CompiledRoute): void {
    const parametric = path.includes('{');
    const pattern = parametric ? routerPath(path) : path;
    const paths = parametric ? this.#patterns : this.#exact;
    const shape = path.replace(/\{\w+/g, '{');
    const { route } = compiled;
    const spelled = this.#shapes.get(shape) ?? { path, route };
    if (spelled.path !== path) {
      throw taken(route, spelled.route, `${path} is declared as ${spelled.path} already`);
    }
    this.#shapes.set(shape, spelled);
    let methods = paths.get(pattern);
    if (methods === undefined) {
      methods = new Map();
      paths.set(pattern, methods);
      // The router only matches; app.ts lists the middlewares that run.
      if (parametric) this.#router.register(pattern, ['GET'], (_, next) => next());
    }
    const { method } = route;
    const before = methods.get(method);
    if (before !== undefined) {
      throw taken(route, before.route, `${method} ${path} is declared twice`);
    }
    methods.set(method, compiled);
  }
}

/** Names both plugins, because either may have to change. */
function taken(route: Route, before: Route, reason: string): PluginError {
  const [plugin, other] = [ownerOf(route), ownerOf(before)];
  return new PluginError(plugin, plugin === other ? reason : `${reason}, by ${other} before`);
}

/** `/r/{entry_id}` and `/tile/{rest*}` as the router writes them. */
function routerPath(path: string): string {
  return path.replace(/\{(\w+)(\*?)\}/g, (_, name: string, rest: string) =>
    rest === '' ? `:${name}` : `*${name}`,
  );
}

/** The route's own path with its parameters filled in: the same for a route and its aliases. */
export function filledPath({ canonical }: CompiledRoute, params: unknown): string {
  const values = params as Readonly<Record<string, string>>;
  return canonical.replace(/\{(\w+)\*?\}/g, (_, name: string) =>
    encodeURIComponent(values[name] ?? ''),
  );
}

/**
 * Pages, and links to them, come with parameters that other sites add; log reads are defined by C2SP, which allows any
 * query (gateway/API.md §4.1).
 */
export function takesAnyQuery(route: Route): boolean {
  return isPage(route) || route.budget === 'log' || Object.hasOwn(route.responses, '302');
}

/** Whether a browser gets a page from the route. */
export const isPage = ({ tag, responses }: Route): boolean =>
  tag === 'Pages' ||
  Object.values(responses).some(({ type, page }) => type === HTML || page !== undefined);

/** Whether a path that no route has lies beside routes of the API: none of its first segment answers with a page. */
export function isApiPath(routes: readonly Route[], path: string): boolean {
  const first = path.split('/', 2)[1] ?? '';
  const beside = routes.filter((route) => route.path.split('/', 2)[1] === first);
  return beside.length > 0 && !beside.some((route) => isPage(route));
}

const isBatch = (route: Route): route is BatchRoute => 'lineOf' in route;

function compileRoute(route: Route): CompiledRoute {
  const validator = (schema: Route['body'], place: string): Validate | null =>
    schema === undefined ? null : compileSchema(schema, place);
  return {
    route,
    part: partOf(ownerOf(route), `route ${route.method} ${route.path}`),
    canonical: route.path,
    alias: false,
    budget: route.budget ?? (route.method === 'GET' ? 'read' : 'write'),
    roles: new Set(rolesOf(route)),
    shared: route.method === 'GET' && (route.access === 'read' || route.access === 'open'),
    params: validator(route.params, 'path'),
    query: validator(route.query, 'query'),
    body: validator(route.body, 'body'),
    unknownQuery: takesAnyQuery(route)
      ? null
      : compileUnknown(route.query ?? { type: 'object', additionalProperties: false }),
    unknownBody: route.body === undefined ? null : compileUnknown(route.body),
    lines: isBatch(route) ? compileRoute(route.lineOf) : null,
  };
}
