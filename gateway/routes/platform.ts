// The service about itself: health, status, public metrics. gateway/API.md §13.

import { Type } from 'typebox';
import { toBase64 } from '../../log/index.ts';
import type { Log } from '../../log/index.ts';
import { route } from '../../plugins/contract/index.ts';
import type { Route } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { degradedOf, witnessesOf, statusOf } from './health.ts';
import { probeRoutes } from './probes.ts';
import { operatorRoutes } from './operator.ts';
import { Count, Hash, Milliseconds, Note } from './schemas.ts';

const TAG = 'Platform';
const uri = Type.String({ format: 'uri' });

const Health = Type.Object(
  {
    status: Type.Union([Type.Literal('ok'), Type.Literal('degraded')]),
    audit_log_entries: { ...Count, description: 'Size of the live log, its own entries included.' },
    storage: Type.String(),
    uptime_seconds: Count,
    degraded: Type.Array(Type.String(), { description: 'Ids of /status.json that do not work.' }),
    reasons: Type.Array(Type.String(), { description: 'Of each id in `degraded`, what is wrong.' }),
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
        'Of the live log but for `sandbox`. Depths are tree sizes; classifications are counted over all live logs ' +
        'that are served.',
    },
  );

/** /health, /status.json and /metrics/public, and what probes.ts and operator.ts add. */
export function platformRoutes(gateway: Gateway): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/health',
      tag: TAG,
      summary: 'Health',
      description: '200 also when degraded: the body says so.',
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
    ...probeRoutes(gateway),
    ...operatorRoutes(gateway),
  ];
}

function checkpointOf(log: Log): object {
  const { size, root, note, published_at_ms, map_head_ms, cosignatures } = log.published();
  const times = { published_at_ms, map_head_ms };
  return { origin: log.origin, size, root: toBase64(root), ...times, cosignatures, note };
}
