// A JSON schema of the OpenAPI document as a table for readers: each member with its type, its limits and its meaning.
// The schemas are those that gateway/openapi/schemas.ts writes: types, references, enums, unions and the usual limits.

import { isJsonObject } from '../../log/index.ts';
import type { Json, JsonObject } from '../../log/index.ts';

/** A part of the text of a type. `ref` names an object whose members are in another table. */
export interface TypePart {
  readonly text: string;
  readonly ref?: string;
}

/** A type in words, and its limits: `at most 255 characters`. */
export interface TypeWords {
  readonly type: readonly TypePart[];
  readonly limits: readonly string[];
}

/** One member. The name of a member of a member is `parent.child`. */
export interface SchemaRow extends TypeWords {
  readonly name: string;
  readonly required: boolean;
  /** Markdown in one line. */
  readonly about: string;
}

/** The members of an object, or, for another schema, only its type. */
export interface SchemaTable {
  readonly about: string;
  readonly rows: readonly SchemaRow[];
  readonly type: readonly TypePart[];
}

/** Objects in objects, without names of their own, are followed to this depth. */
const MAX_DEPTH = 4;

const nameOf = ({ $ref }: JsonObject): string | undefined =>
  typeof $ref === 'string' ? $ref.split('/').at(-1) : undefined;

const isRecord = (schema: JsonObject): boolean => isJsonObject(schema['properties'] ?? null);

/** The target of a reference; its own description comes before that of the target. */
function resolved(schema: Json, schemas: JsonObject): JsonObject {
  if (!isJsonObject(schema)) return {};
  const name = nameOf(schema);
  if (name === undefined) return schema;
  const { $ref: _, ...own } = schema;
  return { ...resolved(schemas[name] ?? null, schemas), ...own };
}

/** Schemas that the table joins with `or`. */
const choicesOf = ({ anyOf, oneOf }: JsonObject): readonly Json[] =>
  ((anyOf ?? oneOf) as readonly Json[] | undefined) ?? [];

/** The type of a schema in words. */
export function typeOf(schema: Json, schemas: JsonObject): TypeWords {
  const target = resolved(schema, schemas);
  const name = isJsonObject(schema) ? nameOf(schema) : undefined;
  if (name !== undefined && isRecord(target)) {
    return { type: [{ text: name, ref: name }], limits: [] };
  }
  const choices = choicesOf(target);
  if (choices.length > 0) {
    const all = choices.map((choice) => typeOf(choice, schemas));
    const type = all.flatMap((one, i) => (i === 0 ? one.type : [{ text: ' or ' }, ...one.type]));
    return { type, limits: all.flatMap(({ limits }) => limits) };
  }
  const { type, items, format, enum: values } = target;
  if ('const' in target) return { type: [{ text: JSON.stringify(target['const']) }], limits: [] };
  if (Array.isArray(values)) {
    const text = (values as readonly Json[]).map((value) => JSON.stringify(value)).join(', ');
    return { type: [{ text: values.length === 1 ? text : `one of ${text}` }], limits: [] };
  }
  if (type === 'array') {
    const item = typeOf(items ?? null, schemas);
    return {
      type: [{ text: 'array of ' }, ...item.type],
      limits: [...limitsOf(target), ...item.limits],
    };
  }
  const word = typeof type === 'string' ? type : Array.isArray(type) ? type.join(' or ') : 'any';
  const text = typeof format === 'string' ? `${word} (${format})` : word;
  return { type: [{ text }], limits: limitsOf(target) };
}

function limitsOf(schema: JsonObject): string[] {
  const range = (least: string, most: string, unit: string): string[] => {
    const [low, high] = [least, most].map((name) => schema[name] as number | undefined);
    if (low === undefined && high === undefined) return [];
    if (low === high) return [`exactly ${String(low)}${unit}`];
    if (high === undefined) return [`at least ${String(low)}${unit}`];
    if (low === undefined) return [`at most ${String(high)}${unit}`];
    return [`${String(low)} to ${String(high)}${unit}`];
  };
  const { pattern, default: usual } = schema;
  return [
    ...range('minimum', 'maximum', ''),
    ...range('minLength', 'maxLength', ' characters'),
    ...range('minItems', 'maxItems', ' items'),
    ...(typeof pattern === 'string' ? [`matches ${pattern}`] : []),
    ...(usual === undefined ? [] : [`${JSON.stringify(usual)} unless given`]),
  ];
}

const aboutOf = ({ description }: JsonObject): string =>
  typeof description === 'string' ? description : '';

/** The table of a schema. */
export function tableOf(schema: Json, schemas: JsonObject): SchemaTable {
  const target = resolved(schema, schemas);
  return {
    about: aboutOf(target),
    rows: rowsOf(target, schemas, '', MAX_DEPTH),
    type: typeOf(target, schemas).type,
  };
}

function rowsOf(
  object: JsonObject,
  schemas: JsonObject,
  prefix: string,
  depth: number,
): SchemaRow[] {
  const { properties, required, additionalProperties } = object;
  const needed = (required ?? []) as readonly string[];
  const members = Object.entries((properties ?? {}) as JsonObject).map(
    ([name, schema]) => [name, schema, needed.includes(name)] as const,
  );
  const named = isJsonObject(additionalProperties ?? null)
    ? [['…', additionalProperties ?? null, false] as const]
    : [];
  return [...members, ...named].flatMap(([name, schema, isNeeded]): SchemaRow[] => {
    const target = resolved(schema, schemas);
    const own = prefix + name;
    const row = {
      ...{ name: own, required: isNeeded, about: aboutOf(target) },
      ...typeOf(schema, schemas),
    };
    const isOpened = isJsonObject(schema) && nameOf(schema) === undefined && depth > 1;
    const items = isOpened && target['type'] === 'array' ? (target['items'] ?? null) : null;
    if (isJsonObject(items) && nameOf(items) === undefined) {
      return [row, ...rowsOf(items, schemas, `${own}[].`, depth - 1)];
    }
    return isOpened ? [row, ...rowsOf(target, schemas, `${own}.`, depth - 1)] : [row];
  });
}

/** The names of all objects that schemas refer to, directly or through other objects. */
export function objectsIn(from: readonly Json[], schemas: JsonObject): readonly string[] {
  const seen = new Set<string>();
  const walk = (value: Json): void => {
    if (Array.isArray(value)) value.forEach((item: Json) => walk(item));
    if (!isJsonObject(value)) return;
    const name = nameOf(value);
    if (name !== undefined && !seen.has(name)) {
      seen.add(name);
      walk(schemas[name] ?? null);
    }
    Object.values(value).forEach((item) => walk(item));
  };
  // The schema of a body or an answer is shown there.
  const shown = from.flatMap((schema) => (isJsonObject(schema) ? [nameOf(schema)] : []));
  from.forEach((value) => walk(value));
  return [...seen].filter((name) => {
    const schema = schemas[name] ?? null;
    return isJsonObject(schema) && isRecord(schema) && !shown.includes(name);
  });
}
