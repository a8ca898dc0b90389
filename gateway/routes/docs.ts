// /docs: the API as HTML, made from the document at /openapi.json. Each operation has its own page, on which a request
// can be sent to the sandbox. gateway/API.md §13.

import { Type } from 'typebox';
import { isJsonObject } from '../../log/index.ts';
import type { Json, JsonObject } from '../../log/index.ts';
import { ApiError, pageRoute } from '../../plugins/contract/index.ts';
import type { Route } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { openApi } from '../openapi/document.ts';
import { snippetsOf } from '../openapi/snippets.ts';

/** One operation as the views show it. */
interface Operation {
  readonly id: string;
  readonly tag: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly declared: JsonObject;
}

/** The index, and a page for each operation. */
export function docsRoutes(gateway: Gateway): readonly Route[] {
  let known: Documented | null = null;
  const documented = (): Documented => (known ??= documentedBy(gateway));
  return [
    pageRoute({ path: '/docs', summary: 'Every operation of the API' }, () => {
      const { operations } = documented();
      const tags = [...new Set(operations.map(({ tag }) => tag))].map((tag) => ({
        tag,
        operations: operations.filter((one) => one.tag === tag),
      }));
      const { base_url } = gateway;
      const scripts = ['docs-index-page.js'];
      return gateway.page('docs', { title: 'API', here: '/docs', scripts, base_url, tags });
    }),
    pageRoute(
      {
        path: '/docs/{operation}',
        summary: 'One operation: parameters, answers and errors',
        params: Type.Object({ operation: Type.String({ pattern: '^[A-Za-z0-9_]{1,200}$' }) }),
        errors: ['resource_missing'],
      },
      (ctx) => {
        const { operations, document } = documented();
        const operation = operations.find(({ id }) => id === ctx.state.params.operation);
        if (operation === undefined) {
          throw new ApiError('resource_missing', 'there is no such operation', {
            param: 'operation',
          });
        }
        return gateway.page('operation', operationPage(operation, document));
      },
    ),
  ];
}

interface Documented {
  readonly operations: readonly Operation[];
  readonly document: JsonObject;
}

/** Reads the OpenAPI document. The routes do not change while the service runs, so this is done once. */
function documentedBy(gateway: Gateway): Documented {
  const { base_url, types } = gateway;
  const document = openApi({ base_url, routes: gateway.routes(), types });
  const operations = Object.entries(document['paths'] as JsonObject).flatMap(([path, item]) =>
    Object.entries(item as JsonObject).map(([method, value]) => {
      const declared = value as JsonObject;
      const [tag = ''] = declared['tags'] as readonly string[];
      const { operationId, summary } = declared as Record<string, string>;
      const shown = { tag, path, summary: summary ?? '', declared };
      return { id: operationId ?? '', method: method.toUpperCase(), ...shown };
    }),
  );
  return { operations, document };
}

type View = { readonly title: string } & Readonly<Record<string, unknown>>;

function operationPage({ declared, ...operation }: Operation, document: JsonObject): View {
  const all = document['components'] as JsonObject;
  const { method, path } = operation;
  const { description, security } = declared;
  const keys = security as readonly JsonObject[];
  const parameters = listOf(declared['parameters']).map((one) => parameterOf(one, all));
  const body = contentOf(declared['requestBody'] as JsonObject | undefined);
  const answers = Object.entries(declared['responses'] as JsonObject).map(([status, value]) => {
    const answer = resolved(value as JsonObject, all);
    const { description: words } = answer as Record<string, string>;
    return { status, description: words ?? '', ...contentOf(answer) };
  });
  const schemas = all['schemas'] as JsonObject;
  const named = referred([body.schema, ...answers.map(({ schema }) => schema)], schemas);
  return {
    ...operation,
    title: `${method} ${path}`,
    here: '/docs',
    scripts: ['docs-page.js'],
    description: undefined,
    about: description ?? '',
    needs_key: !keys.some((one) => Object.keys(one).length === 0),
    parameters,
    fields: parameters.filter(({ place }) => place !== 'header'),
    body: body.type === null ? null : body,
    answers,
    schemas: named.map((name) => ({ name, text: pretty(schemas[name] ?? null) })),
    snippets: snippetsOf(document, method.toLowerCase(), path),
  };
}

function parameterOf(parameter: JsonObject, all: JsonObject): Readonly<Record<string, unknown>> {
  const declared = resolved(parameter, all);
  const { name, in: place, required, description, schema } = declared;
  return {
    name,
    place,
    required,
    about: description ?? '',
    schema: compact(resolved(schema as JsonObject, all)),
  };
}

/** The target of a reference in the document. A value that is not a reference is returned unchanged. */
function resolved(value: JsonObject, all: JsonObject): JsonObject {
  const { $ref } = value;
  if (typeof $ref !== 'string') return value;
  const [name = '', kind = ''] = $ref.split('/').toReversed();
  return (all[kind] as Record<string, JsonObject>)[name] ?? value;
}

interface Content {
  readonly type: string | null;
  readonly schema: Json;
  readonly schema_text: string;
  readonly example: string;
}

/** The first media type of a body or an answer. */
function contentOf(holder: JsonObject | undefined): Content {
  const [entry] = Object.entries((holder?.['content'] ?? {}) as JsonObject);
  const media = (entry?.[1] ?? {}) as JsonObject;
  const { schema = null, example } = media;
  return {
    type: entry?.[0] ?? null,
    schema,
    schema_text: schema === null ? '' : pretty(schema),
    example: example === undefined ? '' : pretty(example),
  };
}

/** The names of all schemas that these refer to, directly or through other schemas. */
function referred(from: readonly Json[], schemas: JsonObject): readonly string[] {
  const names = new Set<string>();
  const walk = (value: Json): void => {
    if (Array.isArray(value)) value.forEach((item: Json) => walk(item));
    if (!isJsonObject(value)) return;
    const name = typeof value['$ref'] === 'string' ? value['$ref'].split('/').at(-1) : undefined;
    if (name !== undefined && !names.has(name)) {
      names.add(name);
      walk(schemas[name] ?? null);
    }
    Object.values(value).forEach((item) => walk(item));
  };
  from.forEach((value) => walk(value));
  return [...names];
}

const listOf = (value: Json | undefined): readonly JsonObject[] =>
  (value ?? []) as readonly JsonObject[];

const pretty = (value: Json): string => JSON.stringify(value, null, 2);

/** A schema on one line, without its description, which the page shows separately. */
function compact(schema: Json): string {
  if (!isJsonObject(schema)) return '';
  const { description: _, ...rest } = schema;
  return JSON.stringify(rest);
}
