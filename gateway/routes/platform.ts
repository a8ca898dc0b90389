// Routes about the service itself: health, probes, status, metrics, the OpenAPI document, and what a key is.
// gateway/API.md §13.

import { hash } from 'node:crypto';
import { Type } from 'typebox';
import { toBase64 } from '../../log/index.ts';
import type { Log } from '../../log/index.ts';
import { ApiError, ownEntities, route } from '../../plugins/contract/index.ts';
import type { Route } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { clusterMembers, degradedOf, witnessesOf, statusOf } from './health.ts';
import { openApi } from '../openapi/document.ts';
import { Count, Hash, Milliseconds, Note } from './schemas.ts';
import { sendBytes } from './send.ts';

const TAG = 'Platform';
const uri = Type.String({ format: 'uri' });

const Health = Type.Object(
  {
    status: Type.Union([Type.Literal('ok'), Type.Literal('degraded')]),
    audit_log_entries: { ...Count, description: 'Size of the live log, its own entries included.' },
    storage: Type.String(),
    uptime_seconds: Count,
    degraded: Type.Array(Type.String(), {
      description: 'Ids of the components in /status.json that have a fault.',
    }),
    reasons: Type.Array(Type.String(), { description: 'The fault of each id in `degraded`.' }),
    witnesses: Type.Array(
      Type.Object({
        log: Type.String(),
        quorum: Type.String({
          description:
            'Of the newest checkpoint: met, missing, pending until one is offered after a start, or none when the policy asks for none.',
        }),
        fail_open: Type.Boolean({ description: 'Checkpoints are published without the quorum.' }),
        witnesses: Type.Array(
          Type.Object({
            name: Type.String(),
            cosigned_size: Count,
            cosigned_at_ms: Type.Union([Milliseconds, Type.Null()]),
            ok: Type.Boolean(),
          }),
        ),
      }),
      { description: 'Of each log that has witnesses.' },
    ),
  },
  { $id: 'Health' },
);

const StatusPage = Type.Object(
  {
    page: Type.Object({
      id: Type.String(),
      name: Type.String(),
      url: uri,
      updated_at: Type.String({ format: 'date-time' }),
    }),
    status: Type.Object({
      indicator: Type.String({ description: 'none, minor or major.' }),
      description: Type.String(),
    }),
    components: Type.Array(
      Type.Object({
        id: Type.String(),
        name: Type.String(),
        status: Type.String({ description: 'operational, degraded_performance or major_outage.' }),
        description: Type.Union([Type.String(), Type.Null()]),
      }),
    ),
  },
  { $id: 'StatusPage' },
);

const publicMetricsSchema = (gateway: Gateway) =>
  Type.Object(
    {
      chain_depth: Count,
      audit_log_entries: Count,
      ...gateway.plugged().metrics.members,
      checkpoint: Type.Object({
        origin: Type.String(),
        size: Count,
        root: Hash,
        published_at_ms: Milliseconds,
        map_head_ms: Milliseconds,
        cosignatures: Count,
        note: Note,
      }),
      sandbox: Type.Object({ chain_depth: Count }),
    },
    {
      $id: 'PublicMetrics',
      description:
        'Of the live log, except `sandbox`. Depths are tree sizes. Classifications are counted over all served live logs.',
    },
  );

const Live = Type.Object({ status: Type.Literal('ok') }, { $id: 'Live' });

const Ready = Type.Object(
  {
    ready: Type.Literal(true),
    degraded: Type.Array(Type.String(), { description: 'As in /health.' }),
    reasons: Type.Array(Type.String(), { description: 'As in /health.' }),
    role: Type.Optional(
      Type.Union([Type.Literal('leader'), Type.Literal('follower')], {
        description: 'The role of this node; only in a cluster, as the following members.',
      }),
    ),
    leader: Type.Optional(
      Type.Union([uri, Type.Null()], { description: 'The address of the node that leads.' }),
    ),
    applied: Type.Optional(
      Type.Record(Type.String(), Count, {
        description: 'The size of each log that this node has applied, by its kind and number.',
      }),
    ),
    lag_ms: Type.Optional({
      ...Count,
      description: 'For how long this node has lacked writes of the cluster.',
    }),
  },
  { $id: 'Ready' },
);

const KeyMetadata = Type.Object(
  {
    ok: Type.Literal(true),
    api_base: uri,
    role: Type.String({ description: 'carrier, insured, operator or service.' }),
    sandbox: Type.Boolean(),
    tenant_id: Type.String(),
    tenant_ref: Type.String({ description: 'The reference of the tenant in the log of this key.' }),
    key_id: Type.String(),
    scopes: Type.Array(Type.String(), {
      description:
        'The scopes with which the key was issued. They are recorded and not enforced: the role decides what a key ' +
        'may do. A plugin may require a scope.',
    }),
    entities: Type.Array(Type.String(), {
      description:
        'Entities that the tenant has claimed for itself, by name, two at most: one alone is the default of requests.',
    }),
    verify_url: uri,
  },
  { $id: 'KeyMetadata' },
);

/** /health, /livez, /readyz, /status.json, /metrics, /metrics/public, /openapi.json and /api/v1/me. */
export function platformRoutes(gateway: Gateway): readonly Route[] {
  const { base_url } = gateway;
  let document: ApiDocument | null = null;
  return [
    route({
      method: 'GET',
      path: '/health',
      tag: TAG,
      summary: 'Health',
      description: 'The status is 200 even when the service is degraded; the body says so.',
      access: 'read',
      budget: 'none',
      responses: { 200: { description: 'ok or degraded.', schema: Health } },
      handle(ctx) {
        const degraded = degradedOf(gateway);
        ctx.set('Cache-Control', 'no-store');
        ctx.body = {
          status: degraded.length === 0 ? 'ok' : 'degraded',
          audit_log_entries: gateway.logs.live.size(),
          storage: 'leveldb',
          uptime_seconds: Math.floor(gateway.uptimeMs() / 1000),
          degraded: degraded.map(({ id }) => id),
          reasons: degraded.map(({ fault }) => fault),
          witnesses: witnessesOf(gateway),
        };
      },
    }),
    route({
      method: 'GET',
      path: '/status.json',
      tag: TAG,
      summary: 'Status by component',
      access: 'read',
      responses: {
        200: { description: 'In the form of a Statuspage summary.', schema: StatusPage },
      },
      handle(ctx) {
        ctx.set('Cache-Control', 'no-store');
        ctx.body = statusOf(gateway);
      },
    }),
    route({
      method: 'GET',
      path: '/metrics/public',
      tag: TAG,
      summary: 'Public live metrics',
      access: 'read',
      responses: {
        200: {
          description: 'Counts and the newest checkpoint.',
          schema: publicMetricsSchema(gateway),
        },
      },
      async handle(ctx) {
        const { live, sandbox } = gateway.logs;
        const added = await gateway.plugged().metrics.read();
        ctx.set('Cache-Control', 'no-store');
        ctx.body = {
          chain_depth: live.size(),
          audit_log_entries: live.size(),
          ...added,
          checkpoint: checkpointOf(live),
          sandbox: { chain_depth: sandbox.size() },
        };
      },
    }),
    route({
      method: 'GET',
      path: '/livez',
      tag: TAG,
      summary: 'Whether the process answers',
      description: 'Checks nothing else. Restart the process if it does not answer.',
      access: 'read',
      budget: 'none',
      responses: { 200: { description: 'The process answers.', schema: Live } },
      handle(ctx) {
        ctx.set('Cache-Control', 'no-store');
        ctx.body = { status: 'ok' };
      },
    }),
    route({
      method: 'GET',
      path: '/readyz',
      tag: TAG,
      summary: 'Whether the service should get traffic',
      description:
        '503 while the service stops. A service whose live log takes no entries still answers reads, so it stays ' +
        'ready, with the reasons. With `for=writes` it is not ready then.',
      access: 'read',
      budget: 'none',
      query: Type.Object({
        for: Type.Optional(
          Type.Union([Type.Literal('reads'), Type.Literal('writes')], {
            description: 'The kind of traffic; reads unless given.',
          }),
        ),
      }),
      responses: { 200: { description: 'Ready.', schema: Ready } },
      errors: ['not_ready'],
      handle(ctx) {
        const degraded = degradedOf(gateway);
        const members = {
          degraded: degraded.map(({ id }) => id),
          reasons: degraded.map(({ fault }) => fault),
          ...clusterMembers(gateway),
        };
        const why = gateway.stopping()
          ? 'the service stops'
          : ctx.state.query.for === 'writes' && members.degraded.includes('live_log')
            ? 'the live log takes no entries'
            : null;
        if (why !== null) throw new ApiError('not_ready', why, { members });
        ctx.set('Cache-Control', 'no-store');
        ctx.body = { ready: true, ...members };
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/me',
      tag: 'Core',
      summary: 'The key of this request',
      access: 'key',
      roles: ['carrier', 'insured'],
      responses: { 200: { description: 'The key.', schema: KeyMetadata } },
      async handle(ctx) {
        const { caller } = ctx.state;
        const { role, sandbox, tenant, tenant_ref, key_id, scopes } = caller;
        const entities = await ownEntities(gateway.logs[caller.kind], tenant_ref);
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
          entities,
          verify_url,
        };
      },
    }),
    route({
      method: 'GET',
      path: '/metrics',
      tag: TAG,
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
      tag: TAG,
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
        sendBytes(ctx, document.bytes, 'application/json', `"${document.sha256}"`);
      },
    }),
  ];
}

function checkpointOf(log: Log): object {
  const { size, root, note, published_at_ms, map_head_ms, cosignatures } = log.published();
  const times = { published_at_ms, map_head_ms };
  return { origin: log.origin, size, root: toBase64(root), ...times, cosignatures, note };
}

/** The OpenAPI document as it is sent. */
interface ApiDocument {
  readonly bytes: Buffer;
  readonly sha256: string;
}

/** Makes the document. The routes do not change while the service runs, so this is done once. */
function documentOf(gateway: Gateway): ApiDocument {
  const { base_url, types } = gateway;
  const routes = gateway.routes();
  const events = gateway.webhooks.rules;
  const bytes = Buffer.from(JSON.stringify(openApi({ base_url, routes, types, events })));
  return { bytes, sha256: hash('sha256', bytes, 'hex') };
}
