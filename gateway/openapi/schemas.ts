// JSON Schemas of routes as OpenAPI 3.1 components: a schema with an `$id` becomes one component, and `$ref` names it.
// OpenAPI 3.1.0 §4.8.7 (Components Object), §4.8.24 (Schema Object: JSON Schema 2020-12).

import type { TSchema } from 'typebox';
import { isJsonObject } from '../../log/index.ts';
import type { Json, JsonObject } from '../../log/index.ts';
import { termOf } from './terms.ts';

const NAME = /^[A-Z][A-Za-z0-9]*$/;

/** Keywords of which the value is a schema, a list of schemas, or schemas by name. JSON Schema 2020-12, §10. */
const ONE = new Set(['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains']);
const LIST = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
const NAMED = new Set(['properties', 'patternProperties', 'dependentSchemas']);

/** The path of a schema within another one. */
interface Inside {
  /** The property that it describes. */
  readonly property?: string;
  /** Whether it is one of several that a value may fit. */
  readonly choice?: boolean;
}

/** The schema with each schema directly inside it replaced. */
export function withSubschemas(
  schema: JsonObject,
  replace: (inner: Json, at: Inside) => Json,
): JsonObject {
  const members = Object.entries(schema).map(([keyword, value]): [string, Json] => {
    if (ONE.has(keyword)) return [keyword, replace(value, {})];
    if (LIST.has(keyword) && Array.isArray(value)) {
      const choice = keyword === 'anyOf' || keyword === 'oneOf';
      return [keyword, (value as readonly Json[]).map((inner) => replace(inner, { choice }))];
    }
    if (!NAMED.has(keyword) || !isJsonObject(value)) return [keyword, value];
    const named = Object.entries(value).map(([name, inner]): [string, Json] => [
      name,
      replace(inner, keyword === 'properties' ? { property: name } : {}),
    ]);
    return [keyword, Object.fromEntries(named)];
  });
  return Object.fromEntries(members);
}

/** Collects the named schemas of a document while its operations are written. */
export class SchemaComponents {
  readonly #schemas = new Map<string, { readonly text: string; schema: Json }>();

  /**
   * The schema as an operation shows it: named schemas, at any depth, are replaced by `$ref`.
   * One name for two schemas is a mistake of their authors, and a plain error.
   */
  use(schema: TSchema): JsonObject {
    return this.#walk(schema as unknown as Json, []) as JsonObject;
  }

  /** All named schemas. */
  all(): Record<string, JsonObject> {
    const entries = [...this.#schemas].map(([name, { schema }]) => [name, schema as JsonObject]);
    return Object.fromEntries(entries) as Record<string, JsonObject>;
  }

  #walk(value: Json, owners: readonly string[]): Json {
    if (!isJsonObject(value)) return value;
    const { $id, ...members } = withEnum(withItems(openWhereEmpty(value)));
    if (typeof $id !== 'string') return this.#members(members, owners);
    this.#define($id, members);
    return { $ref: `#/components/schemas/${$id}` };
  }

  #members(members: JsonObject, owners: readonly string[]): JsonObject {
    return withSubschemas(members, (inner, { property }) => {
      if (property === undefined) return this.#walk(inner, owners);
      const walked = this.#walk(inner, [...owners, property]);
      if (!isJsonObject(inner) || 'description' in inner || !isJsonObject(walked)) return walked;
      const description = termOf(property, owners);
      return description === undefined ? walked : { ...walked, description };
    });
  }

  #define(name: string, members: JsonObject): void {
    if (!NAME.test(name)) throw new Error(`schema $id is no component name: ${name}`);
    const text = JSON.stringify(members);
    const known = this.#schemas.get(name);
    if (known !== undefined) {
      if (known.text !== text) throw new Error(`two schemas have the $id ${name}`);
      return;
    }
    const component: { readonly text: string; schema: Json } = { text, schema: null };
    this.#schemas.set(name, component); // before its members: a schema may contain itself
    component.schema = this.#members(members, [name]);
  }
}

/** An object of which no member is named may have any: generators of clients take it for empty otherwise. */
function openWhereEmpty(schema: JsonObject): JsonObject {
  const { type, properties, additionalProperties } = schema;
  const empty = isJsonObject(properties) && Object.keys(properties).length === 0;
  if (type !== 'object' || !empty || additionalProperties !== undefined) return schema;
  return { ...schema, additionalProperties: true };
}

/**
 * An array with a schema for its items, without which generators of clients stop, as they do at the `items: false` of
 * a tuple. The `maxItems` of the tuple then closes it.
 */
function withItems({ ...schema }: JsonObject): JsonObject {
  // TypeBox writes tuples as draft 7 does.
  if (Array.isArray(schema['items'])) {
    Object.assign(schema, { prefixItems: schema['items'] as Json, items: false });
  }
  const { type, prefixItems, items = false, additionalItems: _, ...rest } = schema;
  if ((type !== 'array' && !Array.isArray(prefixItems)) || items !== false) return schema;
  if (!Array.isArray(prefixItems)) return { ...schema, items: {} };
  const length = prefixItems.length;
  return { ...rest, type: 'array', prefixItems, items: {}, minItems: length, maxItems: length };
}

/** A union of texts as the enumeration that it is. */
function withEnum(schema: JsonObject): JsonObject {
  const { anyOf, ...rest } = schema;
  if (!Array.isArray(anyOf) || anyOf.length < 2) return schema;
  const texts = (anyOf as readonly Json[]).flatMap((one) => {
    const { const: only, type, ...more } = isJsonObject(one) ? one : { more: null };
    return typeof only === 'string' && type === 'string' && Object.keys(more).length === 0
      ? [only]
      : [];
  });
  return texts.length === anyOf.length ? { ...rest, type: 'string', enum: texts } : schema;
}

/**
 * Named schemas, each after those that it refers to; else by name. Generators of clients that read them in order find
 * what a schema refers to.
 */
export function inOrder(schemas: Readonly<Record<string, JsonObject>>): Record<string, JsonObject> {
  const ordered: Record<string, JsonObject> = {};
  const begun = new Set<string>();
  const visit = (name: string): void => {
    const schema = schemas[name];
    if (schema === undefined || begun.has(name)) return;
    begun.add(name);
    for (const [, other = ''] of JSON.stringify(schema).matchAll(
      /"#\/components\/schemas\/(\w+)"/g,
    )) {
      visit(other);
    }
    ordered[name] = schema;
  };
  Object.keys(schemas).sort().forEach(visit);
  return ordered;
}
