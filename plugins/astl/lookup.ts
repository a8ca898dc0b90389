// GET /api/v1/astl/lookup and the append-only feed /api/v1/astl/log.json. interface.md, ASTL; behaviour.md §9.1.

import { Type } from 'typebox';
import { ApiError, route } from '../contract.ts';
import type { Caller, JsonObject, Kind, LogView, PluginHost, Route } from '../contract.ts';
import { EntityName, Millis, SurfaceName } from '../contract.ts';
import {
  byEntity,
  byHash,
  Count,
  headHash,
  Hex32,
  shownManifest,
  ShownManifest,
} from './published.ts';

/** Which log a public read asks; that of the key unless given, live without a key. */
export const LogName = Type.Optional(Type.Enum(['live', 'sandbox']));

/** The kind that a read is about. */
export const kindOf = (asked: string | undefined, caller: Caller): Kind =>
  asked === 'live' || asked === 'sandbox' ? asked : caller.key_id === null ? 'live' : caller.kind;

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

const Feed = Type.Object(
  {
    schema: Type.Literal('svc-astl-v1'),
    manifests: Type.Array(FeedRow),
    has_more: Type.Boolean(),
    next_cursor: Type.Union([Type.String(), Type.Null()], {
      description: 'What comes after this page; also at the end, where later manifests will come.',
    }),
    checkpoint: Type.String({ description: 'The newest one of the newest log.' }),
  },
  { $id: 'ManifestFeed' },
);

/** The routes that look manifests up. */
export function lookupRoutes(host: PluginHost): readonly Route[] {
  const { page_default, page_max } = host.limits;
  return [
    route({
      method: 'GET',
      path: '/api/v1/astl/lookup',
      tag: 'astl',
      summary: 'A manifest by its hash, or the newest of an entity',
      description: 'With the proof that the entry and the head hash are of the log.',
      access: 'read',
      query: Type.Object({
        surface_manifest_hash: Type.Optional(Hex32),
        entity: Type.Optional(EntityName),
        log: LogName,
      }),
      responses: {
        200: { description: 'Found or not.', schema: Type.Union([FoundManifest, NoManifest]) },
      },
      errors: ['log_unavailable'],
      async handle(ctx) {
        const { query, caller } = ctx.state;
        const { surface_manifest_hash: hash, entity } = query;
        if ((hash === undefined) === (entity === undefined)) {
          const code = hash === undefined ? 'parameter_missing' : 'parameter_invalid';
          throw new ApiError(code, 'one of surface_manifest_hash and entity names the manifest', {
            param: 'surface_manifest_hash',
          });
        }
        const kind = kindOf(query.log, caller);
        const found =
          hash === undefined ? byEntity(host, kind, entity ?? '') : byHash(host, kind, hash);
        ctx.set('Cache-Control', 'no-store');
        ctx.body =
          found === null
            ? { found: false }
            : { found: true, ...(await shownManifest(host, found)) };
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/astl/log.json',
      tag: 'astl',
      summary: 'All manifests, oldest first',
      description:
        'Append-only: a page that was full stays as it is. `head_hash` is the root of the log at size ' +
        'index + 1; `proof/consistency?from=<index + 1>` leads from it to any later checkpoint.',
      access: 'read',
      query: Type.Object({
        cursor: Type.Optional(Type.String({ maxLength: 64 })),
        limit: Type.Optional(
          Type.String({
            pattern: '^[0-9]{1,6}$',
            description: `1 to ${String(page_max)}; ${String(page_default)} unless given.`,
          }),
        ),
        log: LogName,
      }),
      responses: { 200: { description: 'A page.', schema: Feed } },
      async handle(ctx) {
        const { query, caller } = ctx.state;
        const limit = limitOf(query.limit, page_default, page_max);
        const kind = kindOf(query.log, caller);
        const rows = await feedRows(host.logs(kind), cursorOf(query.cursor), limit + 1);
        const shown = rows.slice(0, limit);
        const last = shown.at(-1);
        ctx.set('Cache-Control', 'no-cache');
        ctx.body = {
          schema: 'svc-astl-v1',
          manifests: shown.map(({ log, index }) => feedRow(log, index)),
          has_more: rows.length > limit,
          next_cursor:
            last === undefined ? (query.cursor ?? null) : cursorText(last.log.number, last.index),
          checkpoint: host.log(kind).published().note,
        };
      },
    }),
  ];
}

/** A page size from a query; 400 outside 1 to `max`. */
export function limitOf(text: string | undefined, standard: number, max: number): number {
  const limit = text === undefined ? standard : Number(text);
  if (limit >= 1 && limit <= max) return limit;
  throw new ApiError('parameter_invalid', `limit is not 1 to ${String(max)}`, { param: 'limit' });
}

/** Where a page of a feed ends: the number of a log and an index in it. */
export interface Cursor {
  readonly number: number;
  readonly index: number;
}

/** The opaque form of a cursor. */
export const cursorText = (number: number, index: number): string =>
  Buffer.from(`${String(number)}.${String(index)}`).toString('base64url');

/** The cursor of a query; before everything without one. 400 for what no feed gave out. */
export function cursorOf(text: string | undefined): Cursor {
  if (text === undefined) return { number: 0, index: -1 };
  const [, number, index] =
    /^([1-9]\d{0,8})\.(0|[1-9]\d{0,15})$/.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  const cursor = { number: Number(number), index: Number(index) };
  if (Number.isSafeInteger(cursor.index) && cursorText(cursor.number, cursor.index) === text) {
    return cursor;
  }
  throw new ApiError('parameter_invalid', 'cursor is not one of this feed', { param: 'cursor' });
}

async function feedRows(
  logs: readonly LogView[],
  after: Cursor,
  limit: number,
): Promise<{ log: LogView; index: number }[]> {
  const rows: { log: LogView; index: number }[] = [];
  for (const log of logs) {
    if (log.number < after.number || rows.length === limit) continue;
    const start = log.number === after.number ? { after: after.index } : {};
    const found = await log.manifests({ ...start, limit: limit - rows.length });
    rows.push(...found.map((index) => ({ log, index })));
  }
  return rows;
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
