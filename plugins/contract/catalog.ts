// Catalogs: where their files are, how a layer serves its own, and the illustrative arithmetic over it.
// gateway/API.md §10.1; the numbers are in catalogs/, never here.

import { existsSync, readFileSync } from 'node:fs';
import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import type { Json, JsonObject } from '../../log/index.ts';
import { decimalPattern, parseDecimal, printDecimal } from './decimal.ts';
import type { PluginHost } from './plugin.ts';
import { route } from './route.ts';
import type { Route, RouteContext } from './route.ts';
import { memberShapes } from './schemas.ts';

/** Where a layer's catalog stands and under which paths it is served. */
export interface Layer {
  readonly host: PluginHost;
  /** File of catalogs/, with `schema`, `apis`, and `scale` where the layer has that route. */
  readonly file: string;
  /** `/api/v1/absence`, before `/catalog` and `/scale`. */
  readonly base: string;
  readonly tag: string;
  /** Path of the catalog where it is another than `<base>/catalog`. */
  readonly path?: string;
  /** Members of the moment, which the file cannot know; they replace those of the same name. */
  readonly current?: (ctx: RouteContext) => object | Promise<object>;
  /** Schemas of members of the moment that are more than the file shows. */
  readonly currentMembers?: Readonly<Record<string, TSchema>>;
}

/** Members that every catalog has; the others are as its file has them. */
const catalogMembers = {
  schema: Type.String(),
  layer: Type.Object({ id: Type.String(), order: Type.Integer(), role: Type.String() }),
  url: Type.String({ format: 'uri' }),
  apis: Type.Record(
    Type.String(),
    Type.Object({
      method: Type.String(),
      path: Type.String(),
      url: Type.String({ format: 'uri-template', description: 'RFC 6570, where it has a part.' }),
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
        example: served,
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
    const description = `${input.description} ${String(input.default)} unless given.`;
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

/** What of the host a catalog needs. */
export type CatalogHost = Pick<PluginHost, 'catalog' | 'url'>;

const BASE = '{base_url}';
const DEPTH = 4;

/** The catalog of a file of catalogs/, as it is served at `path`: with `url`, and a `url` in each of `apis`. */
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

/** What a reference of the form `<file>#/<member>/<member>` stands for; a broken one is a mistake of the package. */
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
      throw new Error('no catalogs/ beside a package.json above here');
    folder = above;
  }
}

/** The file URL of a catalog, `path` relative to `catalogs/` with forward slashes; `..` is refused. */
export function catalogUrl(path: string): URL {
  if (path.split('/').includes('..')) throw new Error(`catalog path leaves catalogs/: ${path}`);
  return new URL(`catalogs/${path}`, ROOT);
}

/** The bytes of a catalog file; throws the error of node:fs when it is missing. */
export function readCatalogBytes(path: string): Uint8Array {
  return readFileSync(catalogUrl(path));
}

/** A JSON catalog; the files ship with the package and are trusted, so the plain parser is enough. */
export function readCatalog(path: string): Json {
  return JSON.parse(readFileSync(catalogUrl(path), 'utf8')) as Json;
}

/** One result: the product of `product`, or the sum of `sum`; each names an input or an earlier result. */
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

/** What `scale` answers, beside the catalog's schema. */
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

/** Applies the formulas in order; inputs that are not given have the catalog's defaults. */
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

/** The `scale` of a catalog document; every catalog that is served with a scale has one. */
export function scaleModelOf(catalog: Json): ScaleModel {
  const { scale: model } = catalog as { readonly scale?: ScaleModel };
  if (model === undefined) throw new Error('the catalog has no scale');
  return model;
}
