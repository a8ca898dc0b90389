// The OpenAPI document, from the declared routes and the error table; nothing in it is written twice.
// OpenAPI 3.1.0; gateway/API.md §13, §20.

import type { TSchema } from 'typebox';
import type { Json, JsonObject } from '../../log/index.ts';
import { receiptOf } from '../../plugins/contract/index.ts';
import type { AnyEntryType, EventRule, Route } from '../../plugins/contract/index.ts';
import { errorResponses, sharedComponents } from './answers.ts';
import type { DocumentedAnswer } from './answers.ts';
import { parametersOf } from './parameters.ts';
import { inOrder, SchemaComponents } from './schemas.ts';
import { share } from './share.ts';
import { webhookParameters, webhooksOf } from './webhooks.ts';
import { isVisitorRoute } from '../host/visitors.ts';
import { NDJSON } from '../http/batch-route.ts';
import { rolesOf } from '../http/roles.ts';
import { compileUnknown } from '../http/unknown-members.ts';

/** What the document is made from. */
export interface OpenApiSource {
  readonly base_url: string;
  readonly routes: readonly Route[];
  /** The schemas include the receipts of these types, even if no answer refers to them. */
  readonly types?: readonly AnyEntryType[];
  /** Which entries are events of webhooks. */
  readonly events?: readonly EventRule[];
}

const SECURITY = {
  api_key: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description:
      'svc_live_ or svc_sandbox_ and 32 characters. A sandbox key writes to its own log. ' +
      'An invalid key is 401 on every operation, also where none is needed.',
  },
  bearer: { type: 'http', scheme: 'bearer', description: 'The same keys as a bearer token.' },
};

const PARAMETERS = {
  idempotency_key: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'The same key and body answer the same for 24 hours; another body with the key is 409.',
    schema: { type: 'string', minLength: 8, maxLength: 255 },
  },
  prefer: {
    name: 'Prefer',
    in: 'header',
    required: false,
    description:
      '`wait=N`: waits up to N seconds (30 at most) for the checkpoint that covers the entry, and ' +
      'answers with it and the inclusion proof in `receipt.log`. `handling=lenient`: ignores unknown members of the ' +
      'request, and lists them in `ignored`.',
    schema: { type: 'string', examples: ['wait=10'] },
  },
};

/** The whole document; two routes of one method and path are a plain error. */
export function openApi({ base_url, routes, types = [], events = [] }: OpenApiSource): JsonObject {
  const schemas = new SchemaComponents();
  const places: { readonly path: string; readonly method: string }[] = [];
  const operations: JsonObject[] = [];
  for (const route of routes) {
    for (const path of [route.path, ...(route.aliases ?? [])]) {
      // OpenAPI has no wildcards: a parameter that takes slashes says so in its description.
      places.push({ path: path.replaceAll('*}', '}'), method: route.method.toLowerCase() });
      operations.push(operation(route, path, schemas));
    }
  }
  for (const type of types) schemas.use(receiptOf(type));
  const webhooks = webhooksOf(events, types, schemas);
  const own = sharedComponents(routes);
  const components = {
    schemas: { ...schemas.all(), ...own.schemas } as Record<string, JsonObject>,
    parameters: { ...PARAMETERS, ...webhookParameters } as Record<string, JsonObject>,
    responses: {} as Record<string, JsonObject>,
  };
  const paths: Record<string, Record<string, JsonObject>> = {};
  share(operations, components).forEach((written, i) => {
    const { path = '', method = '' } = places[i] ?? {};
    const item = (paths[path] ??= {});
    if (method in item) throw new Error(`two routes for ${method.toUpperCase()} ${path}`);
    item[method] = written;
  });
  const tags = [...new Set(routes.map(({ tag }) => tag))];
  return {
    openapi: '3.1.0',
    info: {
      title: 'actlog',
      version: '2.0.0',
      summary: 'Signed receipts for delegated AI decisions, in a log that anyone can check.',
      description:
        'Every operation with GET also answers HEAD and OPTIONS. Every answer has X-Request-Id. ' +
        'Bodies are JSON. An unknown member of a body or query is 400 `parameter_unknown`, or ignored with ' +
        '`Prefer: handling=lenient`. `x-roles` names the roles whose keys may call ' +
        'an operation; a key of another role is 403 `role_forbidden`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: base_url }],
    tags: tags.map((name) => ({ name })),
    paths,
    webhooks,
    components: {
      ...components,
      schemas: inOrder(components.schemas),
      headers: own.headers,
      securitySchemes: SECURITY,
    },
  };
}

function operation(route: Route, path: string, components: SchemaComponents): JsonObject {
  const alias = path !== route.path;
  const note = alias ? `Alias of ${route.method} ${route.path}, answering the same.` : undefined;
  const description = [note, route.description].filter((part) => part !== undefined).join('\n\n');
  const keyed = [{ api_key: [] }, { bearer: [] }];
  const needsKey = route.access === 'key' || typeof route.access === 'object';
  const parameters = [
    ...parametersOf('path', route.params, components),
    ...parametersOf('query', route.query, components),
    ...parametersOf('header', route.headers, components),
    ...[
      ...(route.idempotent === true ? ['idempotency_key'] : []),
      ...(mayAppend(route) ? ['prefer'] : []),
    ].map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ];
  return {
    operationId: operationId(route.method, path),
    tags: [route.tag],
    summary: route.summary,
    ...(description === '' ? {} : { description }),
    ...(alias ? { 'x-canonical-path': route.path } : {}),
    security: needsKey ? keyed : isVisitorRoute(route) ? [{}] : [{}, ...keyed],
    'x-roles': [...rolesOf(route)],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBody(route, components),
    responses: documentedResponses(route, components),
  };
}

/** A body that refuses unknown members says so at its top; parts of it may be components that answers have too. */
function closed(schema: JsonObject, body: TSchema): JsonObject {
  const { type, properties, additionalProperties } = schema;
  const open = type !== 'object' || additionalProperties !== undefined;
  if (open || properties === undefined || compileUnknown(body) === null) return schema;
  return { ...schema, additionalProperties: false };
}

const mayAppend = ({ idempotent, appends }: Route): boolean =>
  idempotent === true || appends === true;

/** What the route declares and what it may fail with; an error that it declares keeps its own schema. */
function documentedResponses(route: Route, components: SchemaComponents): JsonObject {
  const shown: Record<string, DocumentedAnswer> = responses(route, components);
  for (const [status, answer] of Object.entries(errorResponses(route))) {
    const { description, content } = shown[status] ?? {};
    shown[status] =
      description === undefined || content === undefined
        ? answer
        : { ...answer, description: `${description} ${answer.description}`, content };
  }
  return shown as unknown as JsonObject;
}

function operationId(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return [method.toLowerCase(), ...words].join('_');
}

/** The content types of a body of bytes. An example in JSON or in lines of JSON is shown as what it is. */
function bytesContent({ bytes = [], example }: Route): JsonObject {
  const types = [bytes].flat().map((type, i): [string, JsonObject] => {
    const text = i === 0 && typeof example === 'string' ? Buffer.from(example, 'base64') : null;
    if (type === NDJSON && text !== null) return [type, { example: text.toString() }];
    if (type !== 'application/json') return [type, {}];
    const shown = text === null ? {} : { example: JSON.parse(text.toString()) as Json };
    return [type, { schema: { type: 'object' }, ...shown }];
  });
  return Object.fromEntries(types);
}

function requestBody(route: Route, components: SchemaComponents): JsonObject {
  if (route.bytes !== undefined)
    return { requestBody: { required: true, content: bytesContent(route) } };
  if (route.body === undefined) return {};
  const content = {
    schema: closed(components.use(route.body), route.body),
    ...(route.example === undefined ? {} : { example: route.example }),
  };
  return {
    requestBody: {
      required: route.bodyRequired !== false,
      content: { 'application/json': content },
    },
  };
}

function responses(route: Route, components: SchemaComponents): Record<string, DocumentedAnswer> {
  // `info` says of X-Request-Id that every answer has it.
  const names = [
    ...(route.budget === 'none' ? [] : ['RateLimit', 'RateLimit-Policy']),
    ...(route.idempotent === true ? ['Idempotent-Replayed'] : []),
    ...(mayAppend(route) ? ['Preference-Applied'] : []),
  ];
  const headers = Object.fromEntries(
    names.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
  return Object.fromEntries(
    Object.entries(route.responses).map(
      ([status, { description, schema, type, page, formats = [], example }]) => {
        const media = {
          ...(schema === undefined ? {} : { schema: components.use(schema) }),
          ...(example === undefined ? {} : { example }),
        };
        const contentType = type ?? (schema === undefined ? undefined : 'application/json');
        const content = {
          ...(contentType === undefined ? {} : { [contentType]: media }),
          ...Object.fromEntries(
            [...(page === undefined ? [] : [page]), ...formats].map((one) => [one, {}]),
          ),
        };
        const body = Object.keys(content).length === 0 ? {} : { content };
        return [status, { description, headers, ...body }];
      },
    ),
  );
}
