// Catalogs: finding their files, the routes that serve a layer's catalog, and the illustrative arithmetic over it.
// gateway/API.md §10.1. All numbers are in the JSON files of catalogs/.

import { existsSync, readFileSync } from 'node:fs';
import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import type { Json, JsonObject } from '../../log/index.ts';
import { decimalPattern, parseDecimal, printDecimal } from './decimal.ts';
import type { PluginHost } from './plugin.ts';
import { route } from './route.ts';
import type { Route, RouteContext } from './route.ts';
import { memberShapes } from './schemas.ts';

/** The file of a layer's catalog and the paths under which it is served. */
export interface Layer {
  readonly host: PluginHost;
  /** File of catalogs/. It has `schema` and `apis`, and `scale` if the layer has that route. */
  readonly file: string;
  /** `/api/v1/absence`, before `/catalog` and `/scale`. */
  readonly base: string;
  readonly tag: string;
  /** Path of the catalog, by default `<base>/catalog`. */
  readonly path?: string;
  /** Members that change at run time. They replace members of the same name in the file. */
  readonly current?: (ctx: RouteContext) => object | Promise<object>;
  /** Schemas of those members of `current` whose shape the file does not show. */
  readonly currentMembers?: Readonly<Record<string, TSchema>>;
}

/** Schemas of the members that every catalog has. The schemas of other members are derived from its file. */
const catalogMembers = {
  schema: Type.String(),
  layer: Type.Object({ id: Type.String(), order: Type.Integer(), role: Type.String() }),
  url: Type.String({ format: 'uri' }),
  apis: Type.Record(
    Type.String(),
    Type.Object({
      method: Type.String(),
      path: Type.String(),
      url: Type.String({
        format: 'uri-template',
        description: 'A URI, or an RFC 6570 template if the path has parameters.',
      }),
    }),
  ),
};

const ScaleSchema = Type.Object({
  schema: Type.String(),
  illustrative: Type.Literal(true),
  inputs: Type.Record(Type.String(), Type.Number()),
  results: Type.Array(
    Type.Object({
      name: Type.String(),
      formula: Type.String(),
      value: Type.Number(),
      unit: Type.String(),
    }),
  ),
});

/** GET `<base>/catalog`, and GET `<base>/scale` where the catalog has a `scale`. */
export function layerRoutes(layer: Layer): readonly Route[] {
  const { host, file } = layer;
  const catalog = host.catalog(file) as JsonObject;
  return catalog['scale'] === undefined
    ? [catalogRoute(layer)]
    : [catalogRoute(layer), scaleRoute(layer, catalog)];
}

function catalogRoute(layer: Layer): Route {
  const { host, file, base, tag, path = `${base}/catalog`, current, currentMembers } = layer;
  const served = servedCatalog(host, file, path);
  const { layer: placed, ...always } = catalogMembers;
  const shared = served['layer'] === undefined ? always : { layer: placed, ...always };
  return route({
    method: 'GET',
    path,
    tag,
    summary: 'Catalog of the layer',
    access: 'read',
    responses: {
      200: {
        description: `${served['schema'] as string}.`,
        schema: Type.Object({ ...memberShapes([served]), ...shared, ...currentMembers }),
      },
    },
    async handle(ctx) {
      ctx.body = current === undefined ? served : { ...served, ...(await current(ctx)) };
    },
  });
}

function scaleRoute({ base, tag }: Layer, catalog: JsonObject): Route {
  const model = scaleModelOf(catalog);
  const inputs = Object.entries(model.inputs).map(([name, input]): [string, TSchema] => {
    const description = `${input.description} The default is ${String(input.default)}.`;
    return [name, Type.Optional(Type.String({ pattern: SCALE_INPUT, description }))];
  });
  return route({
    method: 'GET',
    path: `${base}/scale`,
    tag,
    summary: 'Illustrative arithmetic over the catalog',
    description: 'Each result shows its formula. Nothing here is a measurement or an offer.',
    access: 'read',
    query: Type.Object(Object.fromEntries(inputs)),
    responses: { 200: { description: 'Inputs and results.', schema: ScaleSchema } },
    handle(ctx) {
      const given = ctx.state.query as Readonly<Record<string, string>>;
      ctx.body = { schema: catalog['schema'], ...scale(model, given) };
    },
  });
}

/** The members of the host that a catalog needs. */
export type CatalogHost = Pick<PluginHost, 'catalog' | 'url'>;

const BASE = '{base_url}';
const DEPTH = 4;

/** A catalog as it is served at `path`: references resolved, `url` added to it and to each of its `apis`. */
export function servedCatalog(host: CatalogHost, file: string, path: string): JsonObject {
  const catalog = resolved(host, host.catalog(file), 0) as JsonObject;
  const apis = catalog['apis'] as Readonly<Record<string, { readonly path: string }>>;
  const addressed = Object.entries(apis).map(([name, api]): [string, Json] => [
    name,
    { ...api, url: host.url(api.path) },
  ]);
  return { ...catalog, url: host.url(path), apis: Object.fromEntries(addressed) };
}

function resolved(host: CatalogHost, value: Json, depth: number): Json {
  if (typeof value === 'string') {
    return value.startsWith(BASE) ? host.url(value.slice(BASE.length)) : value;
  }
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((item: Json) => resolved(host, item, depth));
  const members = value as JsonObject;
  const { $ref } = members;
  if (typeof $ref === 'string') return resolved(host, referred(host, $ref, depth), depth + 1);
  return Object.fromEntries(
    Object.entries(members).map(([name, item]) => [name, resolved(host, item, depth)]),
  );
}

/** Resolves a reference of the form `<file>#/<member>/<member>`. Throws a plain error if the target is missing. */
function referred(host: CatalogHost, $ref: string, depth: number): Json {
  const [file = '', pointer = ''] = $ref.split('#');
  let value: Json | undefined = host.catalog(file);
  for (const name of pointer.split('/').slice(1)) value = (value as JsonObject)[name];
  if (value === undefined || depth >= DEPTH) throw new Error(`catalogs/ has no ${$ref}`);
  return value;
}

const ROOT = packageRoot(new URL('.', import.meta.url));

function packageRoot(start: URL): URL {
  let folder = start;
  for (;;) {
    if (existsSync(new URL('package.json', folder)) && existsSync(new URL('catalogs/', folder))) {
      return folder;
    }
    const above = new URL('..', folder);
    if (above.href === folder.href)
      throw new Error('no parent folder has both a package.json and catalogs/');
    folder = above;
  }
}

/** The file URL of a catalog. `path` is relative to `catalogs/`, with forward slashes and without `..`. */
export function catalogUrl(path: string): URL {
  if (path.split('/').includes('..')) throw new Error(`catalog path leaves catalogs/: ${path}`);
  return new URL(`catalogs/${path}`, ROOT);
}

/** Reads the bytes of a catalog file. Throws the error of node:fs if it is missing. */
export function readCatalogBytes(path: string): Uint8Array {
  return readFileSync(catalogUrl(path));
}

/** Reads a JSON catalog. The files ship with the package, so JSON.parse is strict enough. */
export function readCatalog(path: string): Json {
  return JSON.parse(readFileSync(catalogUrl(path), 'utf8')) as Json;
}

/**
 * One result: the product of the values in `product`, or the sum of those in `sum`. Values are inputs or earlier
 * results.
 */
export interface Formula {
  readonly name: string;
  readonly unit: string;
  readonly product?: readonly string[];
  readonly sum?: readonly string[];
}

/** `scale` of a catalog. */
export interface ScaleModel {
  readonly inputs: Readonly<
    Record<string, { readonly default: number; readonly description: string }>
  >;
  readonly formulas: readonly Formula[];
}

/** The answer of the route `scale`, without `schema`. */
export interface Scaled {
  readonly illustrative: true;
  readonly inputs: Readonly<Record<string, number>>;
  readonly results: readonly {
    readonly name: string;
    readonly formula: string;
    readonly value: number;
    readonly unit: string;
  }[];
}

const DIGITS = 6;
const ONE = 1_000_000n;

/** A decimal that `scale` accepts: at most 12 digits before the point and 6 after it. */
export const SCALE_INPUT = decimalPattern({ whole: 12, fraction: DIGITS });

/** Applies the formulas in order. Inputs that are not given have the catalog's defaults. */
export function scale(model: ScaleModel, given: Readonly<Record<string, string>>): Scaled {
  const values = new Map<string, bigint>();
  for (const [name, input] of Object.entries(model.inputs)) {
    values.set(name, parseDecimal(given[name] ?? String(input.default), DIGITS));
  }
  const inputs = Object.fromEntries([...values].map(([name, value]) => [name, numberOf(value)]));
  const valueOf = (name: string): bigint => {
    const value = values.get(name);
    if (value === undefined)
      throw new Error(`a formula names ${name}, which is neither an input nor an earlier result`);
    return value;
  };
  const results = model.formulas.map(({ name, unit, product, sum }) => {
    const parts = (product ?? sum ?? []).map(valueOf);
    const value =
      product === undefined
        ? parts.reduce((total, part) => total + part, 0n)
        : parts.reduce((total, part) => (total * part) / ONE, ONE);
    values.set(name, value);
    const formula = (product ?? sum ?? []).join(product === undefined ? ' + ' : ' × ');
    return { name, formula: `${name} = ${formula}`, value: numberOf(value), unit };
  });
  return { illustrative: true, inputs, results };
}

function numberOf(value: bigint): number {
  return Number(printDecimal(value, DIGITS));
}

/** The `scale` of a catalog document; throws a plain error if it has none. */
export function scaleModelOf(catalog: Json): ScaleModel {
  const { scale: model } = catalog as { readonly scale?: ScaleModel };
  if (model === undefined) throw new Error('the catalog has no scale');
  return model;
}
