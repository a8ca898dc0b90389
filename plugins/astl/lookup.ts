// GET /api/v1/astl/lookup and the append-only feed /api/v1/astl/log.json. gateway/API.md §9.1.

import { Type } from 'typebox';
import {
  Count,
  EntityName,
  exactlyOne,
  feedRoute,
  Hex32,
  kindOf,
  kindsOf,
  LogName,
  Millis,
  route,
  SurfaceName,
} from '../contract/index.ts';
import type { JsonObject, LogView, PluginHost, Route } from '../contract/index.ts';
import { byEntity, byHash, headHash, shownManifest, ShownManifest } from './published.ts';

const FoundManifest = Type.Object(
  { found: Type.Literal(true), ...ShownManifest.properties },
  { $id: 'ManifestFound' },
);
const NoManifest = Type.Object({ found: Type.Literal(false) }, { $id: 'ManifestNotFound' });

const FeedRow = Type.Object(
  {
    origin: Type.String(),
    index: Count,
    entry_id: Type.String(),
    issued_at_ms: Millis,
    entity: EntityName,
    surfaces: Type.Array(SurfaceName),
    surface_manifest_hash: Hex32,
    head_hash: Hex32,
    permalink: Type.String({ format: 'uri' }),
  },
  { $id: 'FeedRow' },
);

/** The routes that look manifests up. */
export function lookupRoutes(host: PluginHost): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/astl/lookup',
      tag: 'astl',
      summary: 'A manifest by its hash, or the newest manifest of an entity',
      description:
        'Exactly one of `surface_manifest_hash` and `entity` is required. The answer has the proof that the entry and ' +
        'the head hash belong to the log.',
      access: 'read',
      query: Type.Object(
        {
          surface_manifest_hash: Type.Optional(Hex32),
          entity: Type.Optional(EntityName),
          log: LogName,
        },
        exactlyOne('surface_manifest_hash', 'entity'),
      ),
      responses: {
        200: { description: 'Found or not.', schema: Type.Union([FoundManifest, NoManifest]) },
      },
      errors: ['log_unavailable'],
      async handle(ctx) {
        const { query, caller } = ctx.state;
        const { surface_manifest_hash: hash, entity } = query;
        const found =
          hash === undefined
            ? byEntity(host, kindOf(query.log, caller), entity ?? '')
            : byHash(host, kindsOf(query.log, caller), hash);
        ctx.set('Cache-Control', 'no-store');
        ctx.body =
          found === null
            ? { found: false }
            : { found: true, ...(await shownManifest(host, found)) };
      },
    }),
    feedRoute(host, {
      ...{ path: '/api/v1/astl/log.json', tag: 'astl' },
      summary: 'All manifests, oldest first',
      description:
        'Append-only: a full page never changes. `head_hash` is the root of the log at size index + 1; ' +
        '`proof/consistency?from=<index + 1>` proves its consistency with any later checkpoint.',
      ...{ schema: 'svc-astl-v1', $id: 'ManifestFeed', row: FeedRow },
      former: { data: 'manifests' },
      indexes: (log, limit, after) =>
        log.manifests(after === undefined ? { limit } : { limit, after }),
      shown: feedRow,
    }),
  ];
}

function feedRow(log: LogView, index: number): JsonObject {
  const receipt = log.receipt(index);
  if (receipt === null) throw new Error(`entry ${String(index)} has no receipt`);
  const { entry_id, issued_at_ms, entity, surfaces, surface_manifest_hash, permalink } = receipt;
  return JSON.parse(
    JSON.stringify({
      origin: log.origin,
      index,
      entry_id,
      issued_at_ms,
      entity,
      surfaces,
      surface_manifest_hash,
      head_hash: headHash(log, index),
      permalink,
    }),
  ) as JsonObject;
}
