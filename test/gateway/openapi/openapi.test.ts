// Tests of gateway/openapi/document.ts.

import assert from 'node:assert/strict';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Type } from 'typebox';
import { openApi } from '../../../gateway/openapi/document.ts';
import { codesOf } from '../../../gateway/openapi/answers.ts';
import type { JsonObject } from '../../../log/encoding/json.ts';
import { asSchema, errorsOf, route } from '../../../plugins/contract/index.ts';
import type { Route } from '../../../plugins/contract/index.ts';
import { referred } from './referred.ts';

const Party = Type.Object({ name: Type.String() }, { $id: 'Party' });
const Deal = Type.Object(
  { buyer: Party, seller: Type.Optional(Party), witness: Type.Union([Party, Type.Null()]) },
  { $id: 'Deal' },
);

const dealErrors = errorsOf({ deal_closed: { status: 409, sentence: 'The deal is closed.' } });

const post = route({
  method: 'POST',
  path: '/api/v1/deals/{deal_id}',
  aliases: ['/v1/deals/{deal_id}'],
  tag: 'Deals',
  summary: 'Makes a deal',
  access: 'key',
  idempotent: true,
  params: Type.Object({ deal_id: Type.String({ description: 'Which deal.' }) }),
  body: Deal,
  responses: {
    200: { description: 'Made.', schema: Type.Object({ ok: Type.Boolean(), deal: Deal }) },
  },
  errors: [dealErrors.deal_closed],
  example: { buyer: { name: 'a' }, witness: null },
  handle() {},
});

const get = route({
  method: 'GET',
  path: '/files/{path*}',
  tag: 'Files',
  summary: 'Reads a file',
  access: 'read',
  params: Type.Object({ path: Type.String() }),
  query: Type.Object({ from: Type.Optional(Type.String()), to: Type.String() }),
  responses: { 200: { description: 'Bytes.', type: 'application/octet-stream' } },
  handle() {},
});

interface Document {
  readonly paths: Record<string, Record<string, JsonObject>>;
  readonly components: { readonly schemas: Record<string, JsonObject> };
}

const made = (...routes: readonly Route[]): JsonObject & Document =>
  openApi({ base_url: 'https://log.example', routes }) as JsonObject & Document;

describe('gateway/openapi/document', () => {
  it('is valid OpenAPI 3.1 by a public validator', async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(made(post, get)));
    assert.deepEqual(result.errors ?? [], []);
    assert.equal(result.valid, true);
    assert.equal(validator.version, '3.1');
  });

  it('is OpenAPI 3.1.0 of interface version 2.0.0', () => {
    const document = made(post) as unknown as { openapi: string; info: { version: string } };
    assert.equal(document.openapi, '3.1.0');
    assert.equal(document.info.version, '2.0.0');
  });

  it('shows each named schema once and refers to it everywhere else', () => {
    const { components, paths } = made({ ...post, aliases: [] });
    // A component precedes the schemas that refer to it.
    assert.deepEqual(Object.keys(components.schemas), ['Party', 'Deal', 'ErrorEnvelope']);
    assert.equal(JSON.stringify(paths).includes('$id'), false);
    const ref = { $ref: '#/components/schemas/Party' };
    assert.deepEqual((components.schemas['Deal']?.['properties'] as JsonObject)['buyer'], ref);
    assert.deepEqual((components.schemas['Deal']?.['properties'] as JsonObject)['seller'], ref);
  });

  it('has the receipts of the given entry types, each with its own members', () => {
    const schema = asSchema(Type.Object({ price: Type.Integer() }));
    const types = [{ name: 'deals.deal.v1', schema, keys: [] }];
    const { components } = openApi({
      base_url: 'https://log.example',
      routes: [get],
      types,
    }) as unknown as Document;
    const receipt = components.schemas['DealsDealV1Receipt'];
    const [shared, own] = receipt?.['allOf'] as readonly JsonObject[];
    assert.deepEqual(shared, { $ref: '#/components/schemas/ReceiptBase' });
    assert.deepEqual((own?.['properties'] as JsonObject)['price'], { type: 'integer' });
    assert.deepEqual(own?.['required'], ['type', 'price']);
  });

  it('leaves an object without declared members open', () => {
    const body = Type.Object({ any: Type.Object({}), some: Type.Object({ a: Type.String() }) });
    const { paths } = made({ ...post, aliases: [], body });
    const text = JSON.stringify(paths['/api/v1/deals/{deal_id}']?.['post']?.['requestBody']);
    assert.equal(text.match(/"additionalProperties":true/g)?.length, 1);
    assert.match(text, /"any":\{"type":"object","properties":\{\},"additionalProperties":true\}/);
  });

  it('has what several operations share as components', () => {
    const { paths, components } = made(post) as unknown as Document & {
      readonly components: Record<
        'parameters' | 'responses' | 'schemas',
        Record<string, JsonObject>
      >;
    };
    const alias = paths['/v1/deals/{deal_id}']?.['post'] ?? {};
    const declared = paths['/api/v1/deals/{deal_id}']?.['post'] ?? {};
    const { deal_id } = components.parameters;
    assert.deepEqual([deal_id?.['in'], deal_id?.['description']], ['path', 'Which deal.']);
    for (const { parameters, responses } of [alias, declared]) {
      const [first] = parameters as readonly JsonObject[];
      assert.deepEqual(first, { $ref: '#/components/parameters/deal_id' });
      const { $ref } = (responses as Record<string, JsonObject>)['409'] ?? {};
      assert.equal($ref, '#/components/responses/Error409');
    }
    const { description } = components.responses['Error409'] as { readonly description?: string };
    assert.match(description ?? '', /`deal_closed`/);
    const long = Type.Object({
      street: Type.String({ description: 'Where the house of the party stands, with its number.' }),
      town: Type.String({ description: 'The town that it stands in, as its people write it.' }),
    });
    const body = Type.Object({ here: long, away: Type.Object({ homes: Type.Array(long) }) });
    const { components: shared } = made({ ...post, body });
    assert.deepEqual(Object.keys(shared.schemas['Here']?.['properties'] ?? {}), ['street', 'town']);
    assert.equal(JSON.stringify(made({ ...post, body })).split('"street"').length, 3);
  });

  it('has a union of texts as an enumeration, and a tuple of draft 7 as one of 2020-12', () => {
    const body = Type.Object({
      side: Type.Union([Type.Literal('buy'), Type.Literal('sell')], { description: 'Which.' }),
      pair: Type.Tuple([Type.Literal('side'), Type.String()]),
    });
    const text = JSON.stringify(made({ ...post, aliases: [], body }).paths);
    const side = '"side":{"description":"Which.","type":"string","enum":["buy","sell"]}';
    assert.ok(text.includes(side), text);
    assert.match(
      text,
      /"prefixItems":\[\{"type":"string","const":"side"\},\{"type":"string"\}\],"items":\{\}/,
    );
  });

  it('has no reference that does not resolve', () => {
    const document = made(post, get);
    const references = JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g);
    for (const [, pointer = ''] of references) {
      const found = pointer
        .split('/')
        .reduce<unknown>(
          (at, name) => (at as Record<string, unknown> | undefined)?.[name],
          document,
        );
      assert.notEqual(found, undefined, pointer);
    }
  });

  it('lists text/html beside JSON if an answer can also be a page', () => {
    const schema = Type.Object({ ok: Type.Boolean() });
    const both = {
      ...get,
      responses: { 200: { description: 'Both.', schema, page: 'text/html' } },
    };
    const { responses } = made(both).paths['/files/{path}']?.['get'] as {
      responses: Record<string, { content: JsonObject }>;
    };
    assert.deepEqual(Object.keys(responses['200']?.content ?? {}), [
      'application/json',
      'text/html',
    ]);
  });

  it('refuses one name for two schemas and one place for two routes', () => {
    const other = { ...post, path: '/x', aliases: [], body: Type.Object({}, { $id: 'Deal' }) };
    assert.throws(() => made(post, other), /two schemas have the \$id Deal/);
    assert.throws(() => made(get, get), /two routes for GET \/files\/\{path\}/);
  });

  it('writes an alias as a separate operation that names its target', () => {
    const alias = made(post).paths['/v1/deals/{deal_id}']?.['post'];
    assert.equal(alias?.['x-canonical-path'], '/api/v1/deals/{deal_id}');
    assert.equal(alias['operationId'], 'post_v1_deals_deal_id');
  });

  it('makes parameters of params, query and the idempotency headers', () => {
    const read = made(get).paths['/files/{path}']?.['get'];
    const parameters = read?.['parameters'] as readonly JsonObject[];
    assert.deepEqual(
      parameters.map((p) => [p['name'], p['in'], p['required']]),
      [
        ['path', 'path', true],
        ['from', 'query', false],
        ['to', 'query', true],
      ],
    );
    const written = made(post).paths['/api/v1/deals/{deal_id}']?.['post'];
    assert.equal((written?.['parameters'] as readonly JsonObject[]).length, 3);
    assert.equal((written?.['requestBody'] as JsonObject)['required'], true);
  });

  it('says which headers a route reads, and that a GET which appends may wait', () => {
    const headers = Type.Object({ 'X-Deal': Type.Optional(Type.String()) });
    const written = made({ ...post, aliases: [], headers }).paths['/api/v1/deals/{deal_id}']?.[
      'post'
    ];
    const [, deal] = written?.['parameters'] as readonly JsonObject[];
    assert.deepEqual(
      [deal?.['name'], deal?.['in'], deal?.['required']],
      ['X-Deal', 'header', false],
    );
    const read = made({ ...get, appends: true }).paths['/files/{path}']?.['get'];
    const names = (read?.['parameters'] as readonly JsonObject[]).map(({ $ref }) => $ref);
    assert.deepEqual(names.slice(3), ['#/components/parameters/prefer']);
  });

  it('keeps the schema of an error that the route declares', () => {
    const schema = Type.Object(
      { error: Type.Object({}), required: Type.Object({}) },
      { $id: 'Ask' },
    );
    const responses = { ...post.responses, 409: { description: 'Ask first.', schema } };
    const { responses: shown } = made({ ...post, aliases: [], responses }).paths[
      '/api/v1/deals/{deal_id}'
    ]?.['post'] as {
      responses: Record<string, { description: string; headers: object; content: object }>;
    };
    const answer = shown['409'];
    assert.match(answer?.description ?? '', /^Ask first\..*`deal_closed`/);
    const $ref = '#/components/schemas/Ask';
    assert.deepEqual(answer?.content, { 'application/json': { schema: { $ref } } });
    assert.ok('Retry-After' in answer.headers);
  });

  it('requires a key only if the route does', () => {
    const read = made(get).paths['/files/{path}']?.['get'];
    const written = made(post).paths['/api/v1/deals/{deal_id}']?.['post'];
    assert.deepEqual(read?.['security'], [{}, { api_key: [] }, { bearer: [] }]);
    assert.deepEqual(written?.['security'], [{ api_key: [] }, { bearer: [] }]);
  });

  it('names each error code under its own status', () => {
    const document = made(post);
    const responses = document.paths['/api/v1/deals/{deal_id}']?.['post']?.[
      'responses'
    ] as JsonObject;
    for (const { code, status } of codesOf(post)) {
      const answer = referred(document, responses[String(status)] as JsonObject);
      assert.ok((answer['description'] as string).includes(`\`${code}\``), code);
    }
    assert.equal('428' in responses, false);
  });

  it('has number parameters of a query as numbers, and tuples without items: false', () => {
    const numbers = route({
      method: 'GET',
      path: '/numbers',
      tag: 'Numbers',
      summary: 'Numbers',
      access: 'read',
      query: Type.Object({
        limit: Type.Optional(Type.String({ pattern: '^[0-9]{1,6}$', description: 'How many.' })),
        from: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,14}$' })),
        share: Type.Optional(Type.String({ pattern: '^(0|[1-9][0-9]{0,11})(\\.[0-9]{1,6})?$' })),
        month: Type.Optional(Type.String({ pattern: '^[0-9]{4}-(0[1-9]|1[0-2])$' })),
        hash: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$' })),
      }),
      responses: {
        200: {
          description: 'A pair.',
          schema: Type.Unsafe({
            type: 'array',
            prefixItems: [Type.String(), Type.Number()],
            items: false,
          }),
        },
      },
      handle() {},
    });
    const document = made(numbers);
    const { parameters } = document.paths['/numbers']?.['get'] as JsonObject & {
      parameters: readonly { name: string; schema: JsonObject }[];
    };
    const types = parameters.map(({ name, schema }) => [name, schema['type'], schema['maximum']]);
    assert.deepEqual(types, [
      ['limit', 'integer', 999_999],
      ['from', 'integer', 999_999_999_999_999],
      ['share', 'number', undefined],
      ['month', 'string', undefined],
      ['hash', 'string', undefined],
    ]);
    const text = JSON.stringify(document);
    assert.doesNotMatch(text, /"items":false/);
    for (const part of ['"items":{}', '"maxItems":2']) assert.ok(text.includes(part), part);
  });
});
