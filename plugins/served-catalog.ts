// A catalog as the world sees it: `{"$ref": "tolls.json#/tolls_usd"}` stands for what another file says,
// `{base_url}` at the head of a text for this service's address, and each api gets its absolute url.

import type { Json, JsonObject, PluginHost } from './contract.ts';

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
