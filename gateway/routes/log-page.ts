// The page /log: one search for entries by id, hash, index, chain, entity, type, outcome, rule and time, and the newest
// checkpoints. It is rendered on the server, so it works without JavaScript; the script only reloads it.
// log/FORMAT.md §3, §4, §5.

import { Type } from 'typebox';
import { parseJson } from '../../log/index.ts';
import type { ChainKey, Log } from '../../log/index.ts';
import { ApiError, entryName, HTML, route, sendPage } from '../../plugins/contract/index.ts';
import type { Route } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { firstSince, outcomeOf, statementAt } from '../search.ts';
import type { Facet } from '../search.ts';
import { checkpointsOf, curveOf } from './log-checkpoints.ts';
import { findEntry } from './receipt-answer.ts';
import { integerText, kindName } from './schemas.ts';

/** Entries of a page. */
const PAGE = 25;
/** What a list can be narrowed by. */
const FACETS = ['type', 'entity', 'outcome', 'rule'] as const satisfies readonly Facet[];

/** One line of the list. */
interface Row {
  readonly index: number;
  readonly type: string;
  readonly entry_id: string;
  readonly issued_at: string;
  readonly outcome: string | null;
  /** The entry in one sentence. */
  readonly sentence: string;
}

/** The listed entries, and the link to the next page. */
interface Listing {
  readonly title: string;
  readonly indexes: readonly number[];
  /** The link to the next page; null at the end. */
  readonly next: string | null;
  readonly fault: string | null;
}

const text = (maxLength: number, description: string) =>
  Type.Optional(Type.String({ maxLength, description }));

const LogQuery = {
  q: text(4096, 'What to look for; the answer redirects to what it was understood as.'),
  index: text(20, 'One entry.'),
  key: text(4096, 'A chain, as JSON: `["entity","acme"]`.'),
  type: text(256, 'Entries of a type.'),
  entity: text(256, 'Entries of an entity.'),
  outcome: text(256, 'Entries with this outcome, decision, verdict or classification.'),
  rule: text(256, 'Entries that name this rule or reason.'),
  from: text(
    40,
    'Entries since this time, such as `2026-05-01T15:00`; UTC unless it has an offset.',
  ),
  to: text(40, 'Entries until this time.'),
  before: Type.Optional(integerText('Entries below this index, newest first.')),
  after: Type.Optional(integerText('Entries of a chain after this index.')),
};

/** The parameters that were given and are not empty. */
type Asked = { readonly [name in keyof typeof LogQuery]?: string };

/** The page. */
export function logPageRoute(gateway: Gateway): Route {
  return route({
    ...{ method: 'GET', path: '/log', tag: 'Pages', access: 'read' },
    summary: 'The log, to search and to browse',
    query: Type.Object({
      log: Type.Optional(kindName('Which log; live unless given.')),
      ...LogQuery,
    }),
    responses: {
      200: { description: 'The page.', type: HTML },
      302: { description: 'To the receipt or the list that `q` means.' },
    },
    async handle(ctx) {
      const { log: kind = 'live', ...query } = ctx.state.query;
      const asked = Object.fromEntries(
        Object.entries(query).filter(([name, value]) => name in LogQuery && value !== ''),
      ) as Asked;
      const log = gateway.logs[kind];
      ctx.set('Cache-Control', 'no-store');
      if (asked.q !== undefined) {
        const { q, ...others } = asked;
        const meant = await meaningOf(gateway, log, q.trim());
        if (meant !== null) {
          ctx.redirect(typeof meant === 'string' ? meant : addressOf(log, { ...others, ...meant }));
          ctx.body = '';
          return;
        }
      }
      sendPage(ctx, gateway.page('log', await pageOf(gateway, log, asked)));
    },
  });
}

async function pageOf(gateway: Gateway, log: Log, asked: Asked) {
  const newest = log.published();
  const checkpoints = checkpointsOf(log);
  const { indexes, ...listing } = await listingOf(gateway, log, asked);
  const { search } = gateway;
  const chosen = FACETS.flatMap((facet) => {
    const value = asked[facet];
    return value === undefined ? [] : [{ facet, value, without: without(log, asked, facet) }];
  });
  return {
    title: log.kind === 'live' ? 'The log' : 'The sandbox log',
    description:
      'Search the log by entry id, hash, entity, type, outcome, rule and time, and read its newest checkpoints.',
    here: '/log',
    scripts: Object.keys(asked).length === 0 ? ['log-page.js'] : [],
    kind: log.kind,
    base: `/log/${log.kind}/${String(log.number)}`,
    number: log.number,
    origin: log.origin,
    vkey: log.vkey,
    size: newest.size,
    note: newest.note,
    published_at: new Date(newest.published_at_ms).toISOString(),
    checkpoints,
    curve: curveOf(checkpoints),
    asked,
    chosen,
    outcomes: (await search.values(log, 'outcome')).map((value) => ({
      value,
      chosen: asked.outcome === value,
      href:
        asked.outcome === value
          ? without(log, asked, 'outcome')
          : addressOf(log, { ...listed(asked), outcome: value }),
    })),
    types: await search.values(log, 'type'),
    listing: { ...listing, rows: indexes.map((index) => rowOf(gateway, log, index)) },
    behind: newest.size - search.indexed(log),
  };
}

/** The filters of a list, without its place. */
function listed({ type, entity, outcome, rule, from, to }: Asked): Asked {
  return JSON.parse(JSON.stringify({ type, entity, outcome, rule, from, to })) as Asked;
}

function without(log: Log, asked: Asked, facet: string): string {
  const rest = Object.entries(listed(asked)).filter(([name]) => name !== facet);
  return addressOf(log, Object.fromEntries(rest));
}

/** What a search means: the address of a receipt, or members of a query. Null if nothing of the log is named so. */
async function meaningOf(gateway: Gateway, log: Log, q: string): Promise<string | Asked | null> {
  const name = entryName(q);
  if (name !== null) {
    const other = log.kind === 'live' ? ('sandbox' as const) : ('live' as const);
    const found = findEntry(gateway, [log.kind, other], name);
    if (found === null) return null;
    const kind = found.log.kind === 'sandbox' ? '?log=sandbox' : '';
    return `/r/${name}${kind}`;
  }
  if (/^\d{1,16}$/.test(q)) return { index: q };
  if (q.startsWith('[')) return { key: q };
  const words = q.split(/\s+/).map((word) => word.split(/:(.*)/s, 2) as [string, string?]);
  const named = words.filter(
    ([facet, value]) => (FACETS as readonly string[]).includes(facet) && (value ?? '') !== '',
  );
  if (named.length > 0 && named.length === words.length) return Object.fromEntries(named) as Asked;
  for (const facet of ['entity', 'type', 'outcome', 'rule'] as const) {
    const value = facet === 'outcome' ? q.toUpperCase() : q;
    const query = { facets: { [facet]: value }, before: Infinity, from: 0, limit: 1 };
    if ((await gateway.search.search(log, query)).indexes.length > 0) return { [facet]: value };
  }
  return null;
}

async function listingOf(gateway: Gateway, log: Log, asked: Asked): Promise<Listing> {
  const { q, index, key, after } = asked;
  const none = (title: string, fault: string): Listing => ({
    title,
    indexes: [],
    next: null,
    fault,
  });
  if (q !== undefined) {
    return none(
      'Nothing found',
      'This log has no entry id, hash, entity, type, outcome or rule of this name. It may be in the other log.',
    );
  }
  if (index !== undefined) {
    const known = /^\d{1,16}$/.test(index) && Number(index) < log.published().size;
    if (!known) return none(`Entry ${index}`, 'No published entry has this index.');
    return { title: `Entry ${index}`, indexes: [Number(index)], next: null, fault: null };
  }
  if (key !== undefined) return chainOf(log, key, numberOf(after));
  try {
    return await entriesOf(gateway, log, asked);
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    return none('Entries', `${error.message.slice(0, 1).toUpperCase()}${error.message.slice(1)}.`);
  }
}

const numberOf = (written: string | undefined): number | undefined =>
  written === undefined ? undefined : Number(written);

async function chainOf(log: Log, written: string, after: number | undefined): Promise<Listing> {
  const title = `Chain ${written}`;
  const from_ms = 0;
  const to_ms = log.published().map_head_ms;
  try {
    const key = parseJson(written) as unknown as ChainKey;
    const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
    const found = await log.chain({ key, from_ms, to_ms }, page);
    const indexes = found.map(({ index }) => index);
    const last = indexes.length === PAGE ? indexes.at(-1) : undefined;
    const next = last === undefined ? null : addressOf(log, { key: written, after: String(last) });
    return { title, indexes, next, fault: null };
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    const fault = `This is not a chain of the log: ${error.message}.`;
    return { title, indexes: [], next: null, fault };
  }
}

/** Entries with all the facets that are asked for, newest first. */
async function entriesOf({ search }: Gateway, log: Log, asked: Asked): Promise<Listing> {
  const { size } = log.published();
  const facets = Object.fromEntries(
    FACETS.flatMap((facet) => (asked[facet] === undefined ? [] : [[facet, asked[facet]]])),
  ) as Partial<Record<Facet, string>>;
  const from = asked.from === undefined ? 0 : firstSince(log, instantOf(asked.from, 'from'));
  const end = asked.to === undefined ? size : firstSince(log, instantOf(asked.to, 'to') + 1);
  const before = Math.min(end, numberOf(asked.before) ?? size);
  const found = await search.search(log, { facets, before, from, limit: PAGE });
  const next =
    found.before === null
      ? null
      : addressOf(log, { ...listed(asked), before: String(found.before) });
  const filtered = Object.keys(listed(asked)).length > 0;
  return {
    title: filtered ? 'Found entries, newest first' : 'Newest entries',
    indexes: found.indexes,
    next,
    fault: null,
  };
}

/** The milliseconds of a date or time, UTC unless it has an offset. */
function instantOf(written: string, param: string): number {
  const zoned = /T.*(?:Z|[+-]\d\d:\d\d)$/i.test(written) || !written.includes('T');
  const ms = Date.parse(zoned ? written : `${written}Z`);
  if (Number.isFinite(ms)) return ms;
  throw new ApiError('parameter_invalid', `${param} is no time such as 2026-05-01T15:00`, {
    param,
  });
}

function addressOf({ kind }: Log, members: Asked): string {
  const query = new URLSearchParams({ log: kind });
  for (const [name, value] of Object.entries(members)) query.set(name, value);
  return `/log?${query.toString()}`;
}

function rowOf(gateway: Gateway, log: Log, index: number): Row {
  const statement = statementAt(log, index);
  const { type, entry_id, issued_at_ms } = statement;
  return {
    index,
    type: type as string,
    entry_id: entry_id as string,
    issued_at: new Date(issued_at_ms as number).toISOString(),
    outcome: outcomeOf(statement),
    sentence: gateway.sentence(statement),
  };
}
