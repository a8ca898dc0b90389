// Lists: every paged answer has the form {data, has_more, next_cursor}. gateway/API.md §4.4.
//
// `listRoute` declares the route of a list, and `feedRoute` that of an append-only feed over all logs of a kind. A
// cursor is the base64url form of the place of a page's last row. It is opaque to clients.

import { Type } from 'typebox';
import type { Static, TObject, TOptional, TProperties, TSchema, TString } from 'typebox';
import type { JsonObject } from '../../log/index.ts';
import { kindOf, LogName } from './entries.ts';
import { ApiError } from './errors.ts';
import type { LogView } from './log-view.ts';
import type { Limits, PluginHost } from './plugin.ts';
import { route } from './route.ts';
import type { Route, RouteDeclaration, RouteRequest } from './route.ts';

/** The page sizes of a service. */
type PageLimits = Pick<Limits, 'page_default' | 'page_max'>;

/** The parameter `limit` of a list. */
export const pageLimit = ({ page_default, page_max }: PageLimits): TOptional<TString> =>
  Type.Optional(
    Type.String({
      pattern: '^[0-9]{1,6}$',
      description: `1 to ${String(page_max)}; the default is ${String(page_default)}.`,
    }),
  );

/** Parses a page size; 400 `parameter_invalid` outside 1 to `page_max`. */
export function limitOf(
  text: string | undefined,
  { page_default, page_max }: PageLimits,
  param = 'limit',
): number {
  return limitWithin(text === undefined ? page_default : Number(text), page_max, param);
}

/** The number itself, where it is from 1 to `max`; 400 otherwise. */
export function limitWithin(limit: number, max: number, param = 'limit'): number {
  if (limit >= 1 && limit <= max) return limit;
  throw new ApiError('parameter_invalid', `${param} must be from 1 to ${String(max)}`, { param });
}

/** The rows that a page asks for. */
export interface PageQuery {
  /** The page has the rows after this place; undefined for the first page. */
  readonly after: string | undefined;
  /** The largest number of rows. */
  readonly limit: number;
}

/** Earlier names of members and parameters of a list. They are accepted and answered for one more version. */
export interface FormerNames {
  readonly data?: string;
  readonly next_cursor?: string;
  readonly cursor?: string;
  readonly limit?: string;
}

/**
 * A list. `T` is the type from which a row is made, `Q` has the query parameters beside `limit` and `cursor`, and `P`
 * those of the path.
 */
export interface ListDeclaration<T, Q extends TProperties, P extends TProperties> extends Pick<
  RouteDeclaration,
  'path' | 'tag' | 'summary' | 'description' | 'access' | 'errors' | 'budget' | 'whole'
> {
  /** Name of the page's schema in the OpenAPI document. */
  readonly $id: string;
  readonly row: TSchema;
  /** Description of `data`: its rows and their order. */
  readonly rows?: string;
  readonly query?: Q;
  readonly params?: P;
  /** Members of the page beside those of every list. */
  readonly members?: TProperties;
  readonly former?: FormerNames;
  /** An anchored regular expression that matches the places of this list; other cursors are refused. */
  readonly places: string;
  /** New rows are appended at the end: the last page also has a cursor, from which a client can continue later. */
  readonly grows?: boolean;
  /** Finds up to `limit` rows, in the order of the list. */
  find(request: ListRequest<Q, P>, page: PageQuery): Promise<readonly T[]> | readonly T[];
  /** The place of a row in the list. */
  placeOf(found: T): string;
  /** Renders a row. */
  shown(found: T, request: ListRequest<Q, P>): object | Promise<object>;
  /** What a page counts in the rate limit; see `cost` of a route. */
  cost?(request: ListRequest<Q, P>): number | Promise<number>;
  /** The values of `members`. It is called after `find`, with the same request. */
  beside?(request: ListRequest<Q, P>): object | Promise<object>;
}

/** A request for a page, with the parameters that the list declares. */
export type ListRequest<Q extends TProperties, P extends TProperties> = RouteRequest<
  Static<TObject<P>>,
  Static<TObject<Q>>
>;

/** Declares the route of a list. Its handler reads one row more than it shows, to know whether there are more. */
export function listRoute<
  T,
  Q extends TProperties = TProperties,
  P extends TProperties = TProperties,
>({ limits }: { readonly limits: PageLimits }, list: ListDeclaration<T, Q, P>): Route {
  const { path, tag, summary, description, access, errors, budget, whole, former = {} } = list;
  const names = { limit: former.limit ?? 'limit', cursor: former.cursor ?? 'cursor' };
  const Cursor = Type.Optional(
    Type.String({ maxLength: 1024, description: 'The `next_cursor` of the page before.' }),
  );
  const Limit = pageLimit(limits);
  return route({
    ...{ method: 'GET', path, tag, summary, access },
    ...(description === undefined ? {} : { description }),
    ...(errors === undefined ? {} : { errors }),
    ...(budget === undefined ? {} : { budget }),
    ...(whole === undefined ? {} : { whole }),
    ...(list.cost === undefined
      ? {}
      : {
          // The query has passed the schemas of Q and P.
          cost: (request) => list.cost?.(request as unknown as ListRequest<Q, P>) ?? 1,
        }),
    ...(list.params === undefined ? {} : { params: Type.Object(list.params) }),
    query: Type.Object({
      ...list.query,
      limit: Limit,
      cursor: Cursor,
      ...(former.limit === undefined
        ? {}
        : { [former.limit]: Type.Optional(renamed(Limit, 'limit')) }),
      ...(former.cursor === undefined
        ? {}
        : { [former.cursor]: Type.Optional(renamed(Cursor, 'cursor')) }),
    }),
    responses: { 200: { description: 'A page.', schema: pageSchema(list) } },
    async handle(ctx) {
      // The query has passed the schema above, and its values are strings.
      const query = ctx.state.query as Readonly<Record<string, string | undefined>>;
      const request = ctx.state as unknown as ListRequest<Q, P>; // checked by the schemas of Q and P
      const [limitText, limitName] = oneOf(query, 'limit', names.limit);
      const [cursor, cursorName] = oneOf(query, 'cursor', names.cursor);
      const limit = limitOf(limitText, limits, limitName);
      const after = cursor === undefined ? undefined : placeIn(cursor, list.places, cursorName);
      const found = await list.find(request, { after, limit: limit + 1 });
      const page = found.slice(0, limit);
      const has_more = found.length > limit;
      const data = await Promise.all(page.map(async (one) => list.shown(one, request)));
      const last = page.at(-1);
      const end = last === undefined ? (cursor ?? null) : cursorOf(list.placeOf(last));
      const next_cursor = has_more || list.grows === true ? end : null;
      ctx.set('Cache-Control', access === 'read' ? 'no-cache' : 'no-store');
      ctx.body = {
        ...(await list.beside?.(request)),
        ...{ data, has_more, next_cursor },
        ...(former.data === undefined ? {} : { [former.data]: data }),
        ...(former.next_cursor === undefined ? {} : { [former.next_cursor]: next_cursor }),
      };
    },
  });
}

function pageSchema<T, Q extends TProperties, P extends TProperties>(
  list: ListDeclaration<T, Q, P>,
): TObject {
  const { $id, row, rows, members, former = {}, grows } = list;
  const data = Type.Array(row, rows === undefined ? {} : { description: rows });
  const next = Type.Union([Type.String(), Type.Null()], {
    description:
      grows === true
        ? 'Send it as `cursor` to get the next page. The last page has one too: rows that are added later follow it.'
        : 'Send it as `cursor` to get the next page; null on the last page.',
  });
  return Type.Object(
    {
      ...members,
      data,
      has_more: Type.Boolean(),
      next_cursor: next,
      ...(former.data === undefined ? {} : { [former.data]: renamed(data, 'data') }),
      ...(former.next_cursor === undefined
        ? {}
        : { [former.next_cursor]: renamed(next, 'next_cursor') }),
    },
    { $id },
  );
}

/** The schema of a member or parameter under its former name. */
const renamed = <S extends TSchema>(schema: S, name: string): S => ({
  ...schema,
  description: `The former name of \`${name}\`.`,
  deprecated: true,
});

/** The value of a parameter, under its present or former name, and the name that the request used. */
function oneOf(
  query: Readonly<Record<string, string | undefined>>,
  name: string,
  former: string,
): readonly [string | undefined, string] {
  return query[name] === undefined ? [query[former], former] : [query[name], name];
}

const cursorOf = (place: string): string => Buffer.from(place).toString('base64url');

/** The place of a cursor; 400 `parameter_invalid` for a cursor that is not one of this list. */
function placeIn(cursor: string, places: string, param: string): string {
  const place = Buffer.from(cursor, 'base64url').toString();
  if (new RegExp(places).test(place) && cursorOf(place) === cursor) return place;
  throw new ApiError('parameter_invalid', `${param} is not a cursor of this list`, { param });
}

/** An append-only feed of entries, oldest first. */
export interface Feed extends Pick<RouteDeclaration, 'path' | 'tag' | 'summary' | 'description'> {
  /** The value of the member `schema` of each page. */
  readonly schema: string;
  readonly former?: FormerNames;
  readonly row: TObject;
  /** Name of the page's schema in the OpenAPI document. */
  readonly $id: string;
  /** Up to `limit` indexes of the feed's entries in a log, ascending, beginning after `after` if it is given. */
  indexes(log: LogView, limit: number, after?: number): Promise<readonly number[]>;
  /** Renders the row of an entry. */
  shown(log: LogView, index: number): JsonObject;
}

/** An entry of one of several logs. */
export interface Place {
  readonly log: LogView;
  readonly index: number;
}

/** Pattern of the places of a list that spans several logs: the number of a log and an index in it. */
export const PLACES = '^[1-9]\\d{0,8}\\.(0|[1-9]\\d{0,14})$';

/** A place as the text of a cursor. */
export const placeText = ({ log, index }: Place): string =>
  `${String(log.number)}.${String(index)}`;

/** A page of a list that spans several logs, oldest first. `indexes` lists the entries of one log. */
export async function placesAfter(
  logs: readonly LogView[],
  { after, limit }: PageQuery,
  indexes: Feed['indexes'],
): Promise<Place[]> {
  const [number = 0, index] = (after ?? '0.0').split('.').map(Number);
  const places: Place[] = [];
  for (const log of logs) {
    if (places.length === limit || log.number < number) continue;
    const behind = log.number === number ? index : undefined;
    const found = await indexes(log, limit - places.length, behind);
    places.push(...found.map((at) => ({ log, index: at })));
  }
  return places;
}

/** Declares the route of a feed. A full page never changes. */
export function feedRoute(host: PluginHost, feed: Feed): Route {
  const { schema } = feed;
  const query = { log: LogName };
  return listRoute<Place, typeof query>(host, {
    ...feed,
    ...{ access: 'read', query, grows: true, places: PLACES, placeOf: placeText },
    members: {
      schema: Type.String(),
      checkpoint: Type.String({ description: 'The newest checkpoint of the newest log.' }),
    },
    find: ({ query: { log }, caller }, page) =>
      placesAfter(host.logs(kindOf(log, caller)), page, (...asked) => feed.indexes(...asked)),
    shown: ({ log, index }) => feed.shown(log, index),
    beside: ({ query: { log }, caller }) => ({
      schema,
      checkpoint: host.log(kindOf(log, caller)).published().note,
    }),
  });
}
