// What a key learns of itself, what the Prometheus of the service reads, and the OpenAPI document.
// gateway/API.md §13.

import { hash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { Type } from 'typebox';
import { route } from '../../plugins/contract/index.ts';
import type { Route } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { openApi } from '../openapi/document.ts';
import { sendBytes } from './send.ts';

const uri = Type.String({ format: 'uri' });

const KeyMetadata = Type.Object(
  {
    ok: Type.Literal(true),
    api_base: uri,
    role: Type.String({ description: 'carrier, insured, operator or service.' }),
    sandbox: Type.Boolean(),
    tenant_id: Type.String(),
    tenant_ref: Type.String({ description: 'What stands for the tenant in the log of this key.' }),
    key_id: Type.String(),
    scopes: Type.Array(Type.String(), {
      description:
        'As the key was issued with. They are recorded and not enforced: what a key may do is its role, and a ' +
        'plugin of the operator may ask for a scope by itself.',
    }),
    verify_url: uri,
  },
  { $id: 'KeyMetadata' },
);

/** /api/v1/me, /metrics and /openapi.json. */
export function operatorRoutes(gateway: Gateway): readonly Route[] {
  const { base_url } = gateway;
  let document: ApiDocument | null = null;
  return [
    route({
      method: 'GET',
      path: '/api/v1/me',
      tag: 'Core',
      summary: 'Whose key this is',
      access: 'key',
      roles: ['carrier', 'insured'],
      responses: { 200: { description: 'The key.', schema: KeyMetadata } },
      handle(ctx) {
        const { role, sandbox, tenant, tenant_ref, key_id, scopes } = ctx.state.caller;
        const verify_url = `${base_url}/verify`;
        ctx.set('Cache-Control', 'no-store');
        ctx.body = {
          ok: true,
          api_base: base_url,
          role,
          sandbox,
          tenant_id: tenant,
          tenant_ref,
          key_id,
          scopes,
          verify_url,
        };
      },
    }),
    route({
      method: 'GET',
      path: '/metrics',
      tag: 'Platform',
      summary: 'Prometheus metrics',
      access: { roles: ['service'] },
      responses: {
        200: {
          description: 'Text exposition format.',
          type: 'text/plain; version=0.0.4; charset=utf-8',
        },
      },
      async handle(ctx) {
        const { registry } = gateway.metrics;
        const text = await registry.metrics();
        ctx.set('Cache-Control', 'no-store');
        ctx.set('Content-Type', registry.contentType);
        ctx.body = text;
      },
    }),
    route({
      method: 'GET',
      path: '/openapi.json',
      tag: 'Platform',
      summary: 'This interface as OpenAPI 3.1.0',
      access: 'read',
      responses: {
        200: {
          description: 'The document.',
          schema: Type.Object({ openapi: Type.String() }, { additionalProperties: true }),
        },
        304: { description: 'As before.' },
      },
      handle(ctx) {
        document ??= documentOf(gateway);
        ctx.set('Cache-Control', 'public, max-age=300');
        ctx.vary('Accept-Encoding');
        const { bytes, gzipped, sha256 } = document;
        if (ctx.acceptsEncodings('gzip', 'identity') === 'gzip') {
          ctx.set('Content-Encoding', 'gzip');
          sendBytes(ctx, gzipped, 'application/json', `"${sha256}-gzip"`);
        } else {
          sendBytes(ctx, bytes, 'application/json', `"${sha256}"`);
        }
      },
    }),
  ];
}

/** The OpenAPI document, plain and compressed. */
interface ApiDocument {
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
  readonly sha256: string;
}

/** The routes never change while the service runs. */
function documentOf(gateway: Gateway): ApiDocument {
  const { base_url, types } = gateway;
  const routes = gateway.routes();
  const bytes = Buffer.from(JSON.stringify(openApi({ base_url, routes, types })));
  return { bytes, gzipped: gzipSync(bytes, { level: 9 }), sha256: hash('sha256', bytes, 'hex') };
}
