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
    const { $id, ...members } = openWhereEmpty(value as JsonObject);
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
      schema: components.use(property),
    };
  });
}
