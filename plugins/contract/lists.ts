// Pages of lists: their size, and append-only feeds over every log of a kind, oldest first. gateway/API.md §4.2, §9.1.

import { Type } from 'typebox';
import type { TObject, TOptional, TString } from 'typebox';
import type { JsonObject } from '../../log/index.ts';
import { kindOf, LogName } from './entries.ts';
import { ApiError } from './errors.ts';
import type { LogView } from './log-view.ts';
import type { Limits, PluginHost } from './plugin.ts';
import { route } from './route.ts';
import type { Route } from './route.ts';

/** The parameter `limit` of a list. */
export const pageLimit = ({ page_default, page_max }: Limits): TOptional<TString> =>
  Type.Optional(
    Type.String({
      pattern: '^[0-9]{1,6}$',
      description: `1 to ${String(page_max)}; ${String(page_default)} unless given.`,
    }),
  );

/** The page size that a query asks for; 400 outside 1 to `page_max`. */
export function limitOf(text: string | undefined, { page_default, page_max }: Limits): number {
  const limit = text === undefined ? page_default : Number(text);
  if (limit >= 1 && limit <= page_max) return limit;
  throw new ApiError('parameter_invalid', `limit is not 1 to ${String(page_max)}`, {
    param: 'limit',
  });
}

/** An append-only feed of entries. */
export interface Feed {
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /** `schema` of each page. */
  readonly schema: string;
  /** The member that holds the rows, such as `manifests`. */
  readonly rows: string;
  readonly row: TObject;
  /** Name of the page's schema in the OpenAPI document. */
  readonly $id: string;
  /** Up to `limit` indexes of the feed's entries in a log, ascending, from behind `after`; from the first without it. */
  indexes(log: LogView, limit: number, after?: number): Promise<readonly number[]>;
  /** The row of an entry. */
  shown(log: LogView, index: number): JsonObject;
}

/** The route of a feed: a page that was full stays as it is. */
export function feedRoute(host: PluginHost, feed: Feed): Route {
  const { path, tag, summary, description, schema, rows, row, $id } = feed;
  return route({
    ...{ method: 'GET', path, tag, summary, description, access: 'read' },
    query: Type.Object({
      cursor: Type.Optional(Type.String({ maxLength: 64 })),
      limit: pageLimit(host.limits),
      log: LogName,
    }),
    responses: { 200: { description: 'A page.', schema: pageOf(rows, row, $id) } },
    async handle(ctx) {
      const { query, caller } = ctx.state;
      const limit = limitOf(query.limit, host.limits);
      const kind = kindOf(query.log, caller);
      const found = await placesAfter(feed, host.logs(kind), cursorOf(query.cursor), limit + 1);
      const shown = found.slice(0, limit);
      const last = shown.at(-1);
      ctx.set('Cache-Control', 'no-cache');
      ctx.body = {
        schema,
        [rows]: shown.map(({ log, index }) => feed.shown(log, index)),
        has_more: found.length > limit,
        next_cursor: last === undefined ? (query.cursor ?? null) : cursorText(last),
        checkpoint: host.log(kind).published().note,
      };
    },
  });
}

const pageOf = (rows: string, row: TObject, $id: string): TObject =>
  Type.Object(
    {
      schema: Type.String(),
      [rows]: Type.Array(row),
      has_more: Type.Boolean(),
      next_cursor: Type.Union([Type.String(), Type.Null()], {
        description: `What comes after this page; also at the end, where later ${rows} will come.`,
      }),
      checkpoint: Type.String({ description: 'The newest one of the newest log.' }),
    },
    { $id },
  );

interface Place {
  readonly log: LogView;
  readonly index: number;
}

async function placesAfter(
  feed: Feed,
  logs: readonly LogView[],
  cursor: Cursor | null,
  limit: number,
): Promise<Place[]> {
  const places: Place[] = [];
  for (const log of logs) {
    if (places.length === limit || log.number < (cursor?.number ?? 0)) continue;
    const after = log.number === cursor?.number ? cursor.index : undefined;
    const indexes = await feed.indexes(log, limit - places.length, after);
    places.push(...indexes.map((index) => ({ log, index })));
  }
  return places;
}

/** Where a page of a feed ended: the number of a log and an index in it. */
interface Cursor {
  readonly number: number;
  readonly index: number;
}

const cursorText = ({ log: { number }, index }: Place): string => encoded({ number, index });

const encoded = ({ number, index }: Cursor): string =>
  Buffer.from(`${String(number)}.${String(index)}`).toString('base64url');

/** The cursor of a query; 400 for what no feed gave out. */
function cursorOf(text: string | undefined): Cursor | null {
  if (text === undefined) return null;
  const [, number, index] =
    /^([1-9]\d{0,8})\.(0|[1-9]\d{0,15})$/.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  const cursor = { number: Number(number), index: Number(index) };
  if (Number.isSafeInteger(cursor.index) && encoded(cursor) === text) return cursor;
  throw new ApiError('parameter_invalid', 'cursor is not one of this feed', { param: 'cursor' });
}
