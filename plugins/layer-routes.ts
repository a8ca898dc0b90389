// What every layer answers about itself from its catalog: the catalog, and illustrative arithmetic over it.
// behaviour.md §10.1; the numbers are in catalogs/, never here.

import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import { route } from './contract.ts';
import type { Json, JsonObject, PluginHost, Route } from './contract.ts';
import { scale, SCALE_INPUT, scaleModelOf } from './scale.ts';

/** Where a layer's catalog stands and under which paths it is served. */
export interface Layer {
  readonly host: PluginHost;
  /** File of catalogs/, with `schema`, `layer`, `apis` and `scale`. */
  readonly file: string;
  /** `/api/v1/absence`, before `/catalog` and `/scale`. */
  readonly base: string;
  readonly tag: string;
}

const CatalogSchema = Type.Object({
  schema: Type.String(),
  layer: Type.Object({ id: Type.String(), order: Type.Integer(), role: Type.String() }),
  url: Type.String({ format: 'uri' }),
  apis: Type.Record(
    Type.String(),
    Type.Object({
      method: Type.String(),
      path: Type.String(),
      url: Type.String({ format: 'uri' }),
    }),
  ),
});

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

/** GET `<base>/catalog` and GET `<base>/scale`. */
export function layerRoutes({ host, file, base, tag }: Layer): readonly Route[] {
  const catalog = host.catalog(file) as JsonObject;
  const model = scaleModelOf(catalog);
  const schema = catalog['schema'] as string;
  const served = withAddresses(host, catalog, `${base}/catalog`);
  const inputs = Object.entries(model.inputs).map(([name, input]): [string, TSchema] => {
    const description = `${input.description} ${String(input.default)} unless given.`;
    return [name, Type.Optional(Type.String({ pattern: SCALE_INPUT, description }))];
  });
  return [
    route({
      method: 'GET',
      path: `${base}/catalog`,
      tag,
      summary: 'Catalog of the layer',
      access: 'read',
      responses: { 200: { description: schema, schema: CatalogSchema } },
      handle(ctx) {
        ctx.body = served;
      },
    }),
    route({
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
        ctx.body = { schema, ...scale(model, given) };
      },
    }),
  ];
}

function withAddresses(host: PluginHost, catalog: JsonObject, path: string): JsonObject {
  const apis = catalog['apis'] as Readonly<Record<string, { path: string }>>;
  const addressed = Object.entries(apis).map(([name, api]): [string, Json] => [
    name,
    { ...api, url: host.url(api.path) },
  ]);
  return { ...catalog, url: host.url(path), apis: Object.fromEntries(addressed) };
}
