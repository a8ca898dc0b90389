// The logs as C2SP tlog-tiles: checkpoint, tiles and entry bundles. log/FORMAT.md §1. These are the most frequent
// requests, so they are first in the router and have a separate rate limit.

import { Type } from 'typebox';
import { parseTilePath, TILE_WIDTH } from '../../log/index.ts';
import type { Log, TileName } from '../../log/index.ts';
import { ApiError, route } from '../../plugins/contract/index.ts';
import type { Route, RouteContext } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { sendBytes } from './send.ts';

/** The path parameters that name a log: its kind, and its number or none for the newest. */
export interface LogPlace {
  readonly kind: string;
  readonly n?: string;
}

export const LOG_TAG = 'Log';

const Kind = Type.String({ description: '`live` or `sandbox`.' });
const Number_ = Type.String({ description: 'Number of the log within its kind, from 1.' });

/** The two path prefixes of a log. Their parameters have no pattern, because an unknown log is answered with 404. */
export const PLACES = [
  { prefix: '/log/{kind}/{n}', members: { kind: Kind, n: Number_ } },
  { prefix: '/log/{kind}', members: { kind: Kind } },
] as const;

/** The declared path of tiles and bundles, behind that of their log, and their type. */
export const TILES = '/tile/{tile*}';
export const TILE_TYPE = 'application/octet-stream';

const IMMUTABLE = 'public, max-age=31536000, immutable';
// A partial tile never changes either, but no client needs it once the tile has grown.
const SHORT = 'public, max-age=60';

/** The log that a path names. Throws `resource_missing` if there is none. */
export function logAt(gateway: Gateway, { kind, n }: LogPlace): Log {
  if (kind === 'live' || kind === 'sandbox') {
    if (n === undefined) return gateway.logs[kind];
    for (const log of gateway.served[kind]) if (String(log.number) === n) return log;
  }
  throw new ApiError('resource_missing', 'there is no such log');
}

/** Checkpoint, tiles and bundles, under both prefixes. */
export function logRoutes(gateway: Gateway): readonly Route[] {
  return PLACES.flatMap(({ prefix, members }) => [
    route({
      method: 'GET',
      path: prefix + TILES,
      tag: LOG_TAG,
      summary: 'Hash tile or entry bundle',
      description:
        '`<L>/<N>[.p/<W>]` is a tile of 256 (or W) hashes of 32 bytes, `entries/<N>[.p/<W>]` a bundle ' +
        'of entries, each after its length as u16 (C2SP tlog-tiles). A full tile that is not full yet is 404.',
      access: 'read',
      budget: 'log',
      params: Type.Object({
        ...members,
        tile: Type.String({
          description: 'For example `0/x001/234.p/5` or `entries/000`; has slashes.',
        }),
      }),
      responses: {
        200: { description: 'The bytes.', type: TILE_TYPE },
        304: { description: 'As the client has it.' },
      },
      errors: ['resource_missing'],
      handle: (ctx) => sendTile(ctx, gateway),
    }),
    route({
      method: 'GET',
      path: `${prefix}/checkpoint`,
      tag: LOG_TAG,
      summary: 'Newest checkpoint',
      description: 'A C2SP signed note of exactly three lines: origin, size and root.',
      access: 'read',
      budget: 'log',
      params: Type.Object(members),
      responses: {
        200: { description: 'The signed note.', type: 'text/plain; charset=utf-8' },
        304: { description: 'As the client has it.' },
      },
      errors: ['resource_missing', 'log_unavailable'],
      handle(ctx) {
        const { note, size } = logAt(gateway, ctx.state.params).published();
        if (size === 0) {
          throw new ApiError(
            'log_unavailable',
            'there is no checkpoint yet: witnesses are missing',
          );
        }
        ctx.set('Cache-Control', 'no-cache');
        // Cosignatures may be added to a note of the same size, so the tag contains its length.
        const etag = `"${String(size)}.${String(note.length)}"`;
        sendBytes(ctx, Buffer.from(note), 'text/plain; charset=utf-8', etag);
      },
    }),
  ]);
}

type TileContext = RouteContext<LogPlace & { readonly tile: string }>;

async function sendTile(ctx: TileContext, gateway: Gateway): Promise<void> {
  const { params } = ctx.state;
  const log = logAt(gateway, params);
  const name = parseTilePath(`tile/${params.tile}`);
  if (name === null) throw new ApiError('resource_missing', 'that is no tile path');
  const bytes = await tileBytes(log, name);
  if (bytes === null) {
    throw new ApiError('resource_missing', 'no published checkpoint implies that tile');
  }
  const { cache, etag } = tileLabels(name);
  ctx.set('Cache-Control', cache);
  sendBytes(ctx, bytes, TILE_TYPE, etag);
}

/** The bytes of a tile or bundle; null if no published checkpoint implies it. */
export async function tileBytes(log: Log, { level, n, width }: TileName): Promise<Buffer | null> {
  const bytes = level === 'entries' ? await log.bundle(n, width) : log.tile(level, n, width);
  return bytes === null ? null : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Cache-Control and ETag of a tile or bundle. */
export function tileLabels({ level, n, width }: TileName): { cache: string; etag: string } {
  return {
    cache: width === TILE_WIDTH ? IMMUTABLE : SHORT,
    // The log only grows: what a path names once, it names for ever.
    etag: `"${String(level)}.${String(n)}.${String(width)}"`,
  };
}
