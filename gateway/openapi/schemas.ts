// JSON Schemas of routes as OpenAPI 3.1 components: a schema with an `$id` stands once, and is referred to.
// OpenAPI 3.1.0 §4.8.7 (Components Object), §4.8.24 (Schema Object: JSON Schema 2020-12).

import type { TSchema } from 'typebox';
import { isJsonObject } from '../../log/index.ts';
import type { Json, JsonObject } from '../../log/index.ts';

const NAME = /^[A-Z][A-Za-z0-9]*$/;

/** Collects the named schemas of a document while its operations are written. */
export class SchemaComponents {
  readonly #schemas = new Map<string, { readonly text: string; schema: Json }>();

  /**
   * The schema as it stands in an operation: named ones, at any depth, as `$ref`.
   * One name for two schemas is a mistake of their authors, and a plain error.
   */
  use(schema: TSchema): JsonObject {
    return this.#walk(schema as unknown as Json) as JsonObject;
  }

  /** All named schemas, by name. */
  all(): JsonObject {
    const entries = [...this.#schemas].map(([name, { schema }]) => [name, schema] as const);
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #walk(value: Json): Json {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((item: Json) => this.#walk(item));
    const { $id, ...members } = withItems(openWhereEmpty(value as JsonObject));
    if (typeof $id !== 'string') return this.#members(members);
    this.#define($id, members);
    return { $ref: `#/components/schemas/${$id}` };
  }

  #members(members: JsonObject): JsonObject {
    return Object.fromEntries(Object.entries(members).map(([k, v]) => [k, this.#walk(v)]));
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
    this.#schemas.set(name, component); // before its members: a schema may stand within itself
    component.schema = this.#members(members);
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
function withItems(schema: JsonObject): JsonObject {
  const { type, prefixItems, items = false, additionalItems: _, ...rest } = schema;
  if ((type !== 'array' && !Array.isArray(prefixItems)) || items !== false) return schema;
  if (!Array.isArray(prefixItems)) return { ...schema, items: {} };
  const length = prefixItems.length;
  return { ...rest, type: 'array', prefixItems, items: {}, minItems: length, maxItems: length };
}

/**
 * A query parameter as the client sees it. Values arrive as strings, so a route declares a number by a pattern of its
 * digits; in the document it is an integer, or a number where the pattern allows a decimal point.
 */
function queryParameter(schema: TSchema): TSchema {
  const { pattern, type: _, ...rest } = schema as { pattern?: string; type?: string };
  if (pattern === undefined || !DIGITS.test(pattern)) return schema;
  const takes = new RegExp(pattern);
  if (!takes.test('2') || takes.test('2026-07')) return schema;
  const minimum = takes.test('0') ? 0 : 1;
  if (takes.test('0.5')) return { ...rest, type: 'number', minimum };
  const lengths = Array.from({ length: 16 }, (_item, i) => i + 1);
  const longest = lengths.findLast((length) => takes.test('9'.repeat(length))) ?? 0;
  // Without a range of lengths, the largest number need not be one of nines.
  if (!/\{\d+,\d+\}/.test(pattern)) return { ...rest, type: 'integer', minimum };
  const maximum = Math.min(Number('9'.repeat(longest)), Number.MAX_SAFE_INTEGER);
  return { ...rest, type: 'integer', minimum, maximum };
}

/** Patterns of which digits and one point are all that they can take. */
const DIGITS = /^\^(?:[0-9()[\]{},|?-]|\\\.)+\$$/;

/** One parameter of an operation for each member of an object schema. */
export function parametersOf(
  place: 'path' | 'query' | 'header',
  schema: TSchema | undefined,
  components: SchemaComponents,
): readonly JsonObject[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = schema as {
    readonly properties?: Readonly<Record<string, TSchema>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, property]) => {
    const { description } = property as { readonly description?: string };
    return {
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: components.use(place === 'query' ? queryParameter(property) : property),
    };
  });
}
