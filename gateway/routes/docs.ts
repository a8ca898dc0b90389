// /docs: the API as HTML, made from the document at /openapi.json. Each operation has its own page, on which a request
// can be sent to the sandbox. gateway/API.md §13.

import { Type } from 'typebox';
import type { Json, JsonObject } from '../../log/index.ts';
import { ApiError, pageRoute } from '../../plugins/contract/index.ts';
import type { Route } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { openApi } from '../openapi/document.ts';
import { objectsIn, tableOf, typeOf } from '../openapi/schema-table.ts';
import type { SchemaTable } from '../openapi/schema-table.ts';
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
      return gateway.page('docs', {
        title: 'API',
        description:
          'Every operation, with examples, schemas and errors; each can be tried in the sandbox.',
        here: '/docs',
        scripts: ['docs-index-page.js'],
        tags: byTag(operations),
      });
    }),
    pageRoute(
      {
        path: '/docs/{operation}',
        summary: 'One operation: parameters, answers and errors',
        params: Type.Object({ operation: Type.String({ pattern: '^[A-Za-z0-9_]{1,200}$' }) }),
        errors: ['resource_missing'],
      },
      (ctx) => {
        const { operations } = documented();
        const operation = operations.find(({ id }) => id === ctx.state.params.operation);
        if (operation === undefined) {
          throw new ApiError('resource_missing', 'there is no such operation', {
            param: 'operation',
          });
        }
        return gateway.page('operation', operationPage(operation, documented()));
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

/** The operations of each tag, in the order of the document. */
function byTag(operations: readonly Operation[]) {
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  return tags.map((tag) => ({ tag, operations: operations.filter((one) => one.tag === tag) }));
}

type View = { readonly title: string } & Readonly<Record<string, unknown>>;

function operationPage(
  { declared, ...operation }: Operation,
  { operations, document }: Documented,
): View {
  const all = document['components'] as JsonObject;
  const { method, path } = operation;
  const { description, security } = declared;
  const keys = security as readonly JsonObject[];
  const parameters = listOf(declared['parameters']).map((one) => parameterOf(one, all));
  const schemas = all['schemas'] as JsonObject;
  const body = contentOf(declared['requestBody'] as JsonObject | undefined, schemas);
  const answers = Object.entries(declared['responses'] as JsonObject).map(([status, value]) => {
    const answer = resolved(value as JsonObject, all);
    const { description: words } = answer as Record<string, string>;
    return { status, description: words ?? '', ...contentOf(answer, schemas) };
  });
  const good = answers.filter(({ status }) => status < '300');
  const named = objectsIn([body.schema, ...good.map(({ schema }) => schema)], schemas);
  return {
    ...operation,
    title: `${method} ${path}`,
    here: '/docs',
    scripts: ['docs-page.js'],
    description: operation.summary.replaceAll('`', ''),
    beside: operations.filter(({ tag }) => tag === operation.tag),
    about: description ?? '',
    needs_key: !keys.some((one) => Object.keys(one).length === 0),
    parameters,
    fields: parameters.filter(({ place }) => place !== 'header'),
    body: body.type === null ? null : body,
    answers,
    schemas: named.map((name) => ({ name, ...tableOf(schemas[name] ?? null, schemas) })),
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
    ...typeOf(schema ?? null, all['schemas'] as JsonObject),
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
  readonly table: SchemaTable | null;
  readonly example: string;
}

/** The first media type of a body or an answer. */
function contentOf(holder: JsonObject | undefined, schemas: JsonObject): Content {
  const [entry] = Object.entries((holder?.['content'] ?? {}) as JsonObject);
  const media = (entry?.[1] ?? {}) as JsonObject;
  const { schema = null, example } = media;
  return {
    type: entry?.[0] ?? null,
    schema,
    table: schema === null ? null : tableOf(schema, schemas),
    example: example === undefined ? '' : pretty(example),
  };
}

const listOf = (value: Json | undefined): readonly JsonObject[] =>
  (value ?? []) as readonly JsonObject[];

const pretty = (value: Json): string => JSON.stringify(value, null, 2);
