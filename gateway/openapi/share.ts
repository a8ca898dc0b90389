// Parameters, error responses and schemas that a document repeats become components of it.
// OpenAPI 3.1.0 §4.8.7 (Components Object), §4.8.23 (Reference Object).

import { isJsonObject } from '../../log/index.ts';
import type { Json, JsonObject } from '../../log/index.ts';
import { withSubschemas } from './schemas.ts';

/** Components of one kind, by name. */
type Named = Record<string, JsonObject>;

/** Repeats of a schema are replaced where that makes the document smaller by this many characters. */
const WORTH = 100;

/** Replaces values that occur more than once by references, and collects them as components of one kind. */
class Shared {
  readonly #kind: string;
  readonly #counts = new Map<string, number>();
  readonly #names = new Map<string, string>();
  readonly #components: Named;

  /** @param components of this kind; those found are added */
  constructor(kind: string, components: Named) {
    this.#kind = kind;
    this.#components = components;
  }

  /** Counts a value; all are counted before the first is replaced. */
  count(value: JsonObject): void {
    const text = JSON.stringify(value);
    this.#counts.set(text, (this.#counts.get(text) ?? 0) + 1);
  }

  /** The value, or the reference to its component, which is named after `name`. */
  replace(value: JsonObject, name: string): JsonObject {
    const text = JSON.stringify(value);
    if ('$ref' in value || (this.#counts.get(text) ?? 0) < 2) return value;
    let known = this.#names.get(text);
    if (known === undefined) {
      known = freeName(this.#components, name);
      this.#names.set(text, known);
      this.#components[known] = value;
    }
    return { $ref: `#/components/${this.#kind}/${known}` };
  }
}

/** `name`, or `name` with the first number after it that is not in use yet. */
function freeName(taken: object, name: string): string {
  if (!(name in taken)) return name;
  let count = 2;
  while (`${name}_${String(count)}` in taken) count += 1;
  return `${name}_${String(count)}`;
}

/**
 * Makes components of the schemas that several places have alike, the largest first: what is inside of one is counted
 * once. Schemas of a few characters stay where they are.
 */
class SharedSchemas {
  /** In how many places a schema occurs, without its occurrences inside a schema that is itself repeated. */
  readonly #counts = new Map<string, number>();
  readonly #texts = new WeakMap<JsonObject, string>();
  readonly #names = new Map<string, string>();
  readonly #components: Named;

  /** @param components the named schemas; those found are added */
  constructor(components: Named) {
    this.#components = components;
    for (const schema of Object.values(components)) this.#countInside(schema);
  }

  /** Counts a schema of an operation; all are counted before the first is replaced. */
  count(schema: Json): void {
    if (!isJsonObject(schema)) return;
    const text = this.#textOf(schema);
    const before = this.#counts.get(text) ?? 0;
    this.#counts.set(text, before + 1);
    if (before === 0) this.#countInside(schema);
  }

  /**
   * The schema, or the reference to its component. Generators of clients need a name for each object that is a choice,
   * so these become components however often they occur there.
   */
  replace(schema: Json, owner: string, property?: string, choice = false): Json {
    if (!isJsonObject(schema) || '$ref' in schema) return schema;
    const text = this.#textOf(schema);
    const { length } = text;
    const count = this.#counts.get(text) ?? 0;
    const own = property === undefined ? owner : `${owner}${capital(property)}`;
    const named = choice && 'properties' in schema;
    if (!named && (count - 1) * (length - 50) < WORTH) return this.#inside(schema, own);
    let name = this.#names.get(text);
    if (name === undefined) {
      const names = [...(property === undefined ? [] : [capital(property)]), own];
      name = names.find((one) => !(one in this.#components)) ?? freeName(this.#components, own);
      this.#names.set(text, name);
      this.#components[name] = {}; // its name is taken before its parts look for theirs
      this.#components[name] = this.#inside(schema, name);
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  /** Replaces what is inside the named schemas. */
  replaceInComponents(): void {
    for (const [name, schema] of Object.entries(this.#components)) {
      this.#components[name] = this.#inside(schema, name);
    }
  }

  #inside(schema: JsonObject, owner: string): JsonObject {
    return withSubschemas(schema, (inner, { property, choice = false }) =>
      this.replace(inner, choice ? `${owner}${choiceName(inner)}` : owner, property, choice),
    );
  }

  #countInside(schema: JsonObject): void {
    withSubschemas(schema, (inner) => {
      this.count(inner);
      return inner;
    });
  }

  #textOf(schema: JsonObject): string {
    let text = this.#texts.get(schema);
    if (text === undefined) this.#texts.set(schema, (text = JSON.stringify(schema)));
    return text;
  }
}

/** What tells an object from the other choices: the text that one of its members always has; else that it is one. */
function choiceName(schema: Json): string {
  if (!isJsonObject(schema) || !isJsonObject(schema['properties'])) return '';
  const texts = Object.values(schema['properties']).flatMap((property) => {
    const only = isJsonObject(property) ? property['const'] : undefined;
    return typeof only === 'string' && /^[A-Za-z]\w{0,23}$/.test(only) ? [only] : [];
  });
  return capital(texts[0] ?? 'object');
}

/** `entry_id` as `EntryId`. */
export const capital = (name: string): string =>
  name
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');

/** Shares what the operations of a document have alike; `components` gets what becomes one. */
export function share(
  operations: readonly JsonObject[],
  components: Readonly<Record<'schemas' | 'parameters' | 'responses', Named>>,
): readonly JsonObject[] {
  const schemas = new SharedSchemas(components.schemas);
  for (const operation of operations) {
    withSchemas(operation, (schema) => {
      schemas.count(schema);
      return schema;
    });
  }
  schemas.replaceInComponents();
  const written = operations.map((operation) =>
    withSchemas(operation, (...at) => schemas.replace(...at)),
  );
  const parameters = new Shared('parameters', components.parameters);
  const responses = new Shared('responses', components.responses);
  for (const operation of written) {
    for (const parameter of listOf(operation['parameters'])) parameters.count(parameter);
    for (const [, response] of failures(operation)) responses.count(response);
  }
  return written.map((operation) => {
    const shared = failures(operation).map(([status, response]): [string, JsonObject] => [
      status,
      responses.replace(response, `Error${status}`),
    ]);
    const taken = listOf(operation['parameters']).map((parameter) =>
      parameters.replace(parameter, parameter['name'] as string),
    );
    return {
      ...operation,
      ...(taken.length === 0 ? {} : { parameters: taken }),
      responses: { ...(operation['responses'] as JsonObject), ...Object.fromEntries(shared) },
    };
  });
}

const listOf = (value: Json | undefined): readonly JsonObject[] =>
  (value ?? []) as readonly JsonObject[];

/** The answers of an operation that are no success, by status. */
const failures = ({ responses }: JsonObject): readonly [string, JsonObject][] =>
  Object.entries(responses as Record<string, JsonObject>).filter(([status]) => status >= '300');

/** The operation with each schema of its parameters, body and answers replaced. */
function withSchemas(
  operation: JsonObject,
  replace: (schema: Json, owner: string, property?: string) => Json,
): JsonObject {
  const { operationId, parameters, requestBody, responses } = operation;
  const owner = capital(operationId as string);
  const within = (holder: JsonObject, name: string, property?: string): JsonObject => {
    const { schema } = holder;
    return schema === undefined ? holder : { ...holder, schema: replace(schema, name, property) };
  };
  const media = (holder: JsonObject, name: string): JsonObject => {
    const { content } = holder;
    if (!isJsonObject(content)) return holder;
    const types = Object.entries(content).map(([type, one]) => [
      type,
      within(one as JsonObject, name),
    ]);
    return { ...holder, content: Object.fromEntries(types) as JsonObject };
  };
  const shown = Object.entries((responses ?? {}) as Record<string, JsonObject>).map(
    ([status, answer]) => [
      status,
      media(answer, `${owner}${status === '200' ? 'Answer' : status}`),
    ],
  );
  return {
    ...operation,
    ...(parameters === undefined
      ? {}
      : { parameters: listOf(parameters).map((one) => within(one, owner, one['name'] as string)) }),
    ...(requestBody === undefined
      ? {}
      : { requestBody: media(requestBody as JsonObject, `${owner}Body`) }),
    responses: Object.fromEntries(shown) as JsonObject,
  };
}
