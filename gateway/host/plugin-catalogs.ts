// The catalogs of the service: the files of catalogs/, the documents that plugins bring, and what plugins add to the
// tolls, to the resources of x402 and to the stack of layers.

import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import type { Json, JsonObject, Plugin } from '../../plugins/contract/index.ts';
import { readCatalog } from '../../plugins/index.ts';
import { compileSchema } from '../http/validation.ts';
import { PluginError } from './plugin-error.ts';

const Text = Type.String({ minLength: 1 });
const Path = Type.String({ pattern: '^/' });

/** What plugins declare of catalogs; their names are checked below. */
const SHAPES: Readonly<Record<'catalogs' | 'tolls' | 'layer', TSchema>> = {
  catalogs: Type.Record(Type.String(), Type.Object({})),
  tolls: Type.Record(
    Type.String(),
    Type.Object(
      {
        usd: Type.Number({ minimum: 0, maximum: 1_000_000 }),
        acts: Type.Array(Type.String({ pattern: '^POST /' }), { minItems: 1 }),
        outcomes: Type.Optional(Type.Array(Text)),
      },
      { additionalProperties: false },
    ),
  ),
  layer: Type.Object(
    { name: Text, role: Text, unit: Text, path: Path, api: Path },
    { additionalProperties: false },
  ),
};

/** Checks what a plugin declares of catalogs. Throws `PluginError`. */
export function checkCatalogs(plugin: Plugin): void {
  const { name } = plugin;
  for (const [member, schema] of Object.entries(SHAPES)) {
    const declared: unknown = plugin[member as keyof typeof SHAPES];
    if (declared === undefined) continue;
    try {
      compileSchema(Type.Object({ [member]: schema }), member)({ [member]: declared });
    } catch (cause) {
      throw new PluginError(name, (cause as Error).message, { cause });
    }
  }
  for (const path of Object.keys(plugin.catalogs ?? {})) {
    if (path !== `${name}.json` && !path.startsWith(`${name}/`)) {
      throw new PluginError(
        name,
        `catalogs has ${path}, which must be ${name}.json or a path below ${name}/`,
      );
    }
  }
  const prefix = `${name.replaceAll('-', '_')}_`;
  for (const id of Object.keys(plugin.tolls ?? {})) {
    if (!id.startsWith(prefix) || !/^[a-z][a-z0-9_]{0,63}$/.test(id)) {
      throw new PluginError(
        name,
        `tolls has ${id}, which must be words of a-z, 0-9 and _ and begin with ${prefix}`,
      );
    }
  }
}

interface Tolls {
  readonly tolls_usd: Readonly<Record<string, number>>;
  readonly metering: Readonly<Record<string, Json>>;
}

interface Discovery {
  readonly resources: readonly Json[];
}

interface Stack {
  readonly layers: readonly Json[];
}

/** Reads a catalog by its path, with what these plugins add. Each is read once. */
export function catalogsOf(plugins: readonly Plugin[]): (path: string) => Json {
  const read = new Map<string, Json>();
  for (const { catalogs = {} } of plugins) {
    for (const [path, document] of Object.entries(catalogs)) read.set(path, document);
  }
  const added = (path: string, add: (document: never) => object): void => {
    const document = readCatalog(path) as JsonObject;
    read.set(path, { ...document, ...add(document as never) });
  };
  const tolls = plugins.flatMap((plugin) => Object.entries(plugin.tolls ?? {}));
  if (tolls.length > 0) {
    added('tolls.json', ({ tolls_usd, metering }: Tolls) => ({
      tolls_usd: { ...tolls_usd, ...Object.fromEntries(tolls.map(([id, { usd }]) => [id, usd])) },
      metering: {
        ...metering,
        ...Object.fromEntries(
          tolls.map(([id, { acts, outcomes }]) => [
            id,
            { metered: true, acts, ...(outcomes === undefined ? {} : { outcomes }) },
          ]),
        ),
      },
    }));
    added('x402.json', ({ resources }: Discovery) => {
      const more = tolls.flatMap(([toll, { acts }]) =>
        acts.map((act) => ({ method: 'POST', path: act.slice('POST '.length), toll })),
      );
      return { resources: [...resources, ...more] };
    });
  }
  const layers = plugins.filter(({ layer }) => layer !== undefined);
  if (layers.length > 0) {
    added('stack.json', ({ layers: own }: Stack) => ({
      layers: [...own, ...layers.map((plugin, i) => layerOf(plugin, own.length + i + 1))],
    }));
  }
  return (path) => {
    const document = read.get(path) ?? readCatalog(path);
    read.set(path, document);
    return document;
  };
}

function layerOf({ name: id, layer }: Plugin, order: number): Json {
  if (layer === undefined) throw new Error(`${id} has no layer`);
  const { name, role, unit, path, api } = layer;
  const [url, catalog_url] = [`{base_url}${path}`, `{base_url}${api}`];
  return { order, id, name, role, unit, path, url, api, catalog_url };
}
