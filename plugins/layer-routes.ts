// What every layer answers about itself from its catalog: the catalog, and illustrative arithmetic over it.
// gateway/API.md §10.1; the numbers are in catalogs/, never here.

import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import { route } from './contract.ts';
import type { JsonObject, PluginHost, Route, RouteContext } from './contract.ts';
import { scale, SCALE_INPUT, scaleModelOf } from './scale.ts';
import { servedCatalog } from './served-catalog.ts';
import { memberShapes } from './shape-of.ts';

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
