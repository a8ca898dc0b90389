// /log: the log for people. Everything is rendered here, so that it can be read without JavaScript; a script only
// asks for the page again. log/FORMAT.md §3, §5.

import { Type } from 'typebox';
import { isJsonObject, parseJson } from '../../log/index.ts';
import type { ChainKey, Log } from '../../log/index.ts';
import { pageRoute } from '../../plugins/contract/index.ts';
import type { Route } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { checkpointsOf, curveOf } from './log-history.ts';
import { integerText, kindName } from './schemas.ts';

const PAGE = 25;
/** How far back one request looks for entries of a type. */
const REACH = 2000;

/** One line of the list. */
interface Row {
  readonly index: number;
  readonly type: string;
  readonly entry_id: string;
  readonly issued_at: string;
}

/** What is listed, and the link to what follows. */
interface Listing {
  readonly title: string;
  readonly rows: readonly Row[];
  /** Query of the page that goes on; null at the end. */
  readonly next: string | null;
  readonly fault: string | null;
}

/** The page. */
export function logPageRoute(gateway: Gateway): Route {
  return pageRoute(
    {
      path: '/log',
      summary: 'The log, to browse',
      query: Type.Object({
        log: Type.Optional(kindName('Which log; live unless given.')),
        index: Type.Optional(Type.String({ maxLength: 20, description: 'One entry.' })),
        key: Type.Optional(
          Type.String({ maxLength: 4096, description: 'A chain, as JSON: `["entity","acme"]`.' }),
        ),
        type: Type.Optional(Type.String({ maxLength: 256, description: 'Entries of a type.' })),
        before: Type.Optional(integerText('Entries below this index, newest first.')),
        after: Type.Optional(integerText('Of a chain: what stands after this index.')),
      }),
    },
    async (ctx) => {
      const { query } = ctx.state;
      const log = gateway.logs[query.log ?? 'live'];
      const newest = log.published();
      const checkpoints = checkpointsOf(log);
      const plain = Object.keys(query).every((name) => name === 'log');
      ctx.set('Cache-Control', 'no-store');
      return gateway.page('log', {
        title: log.kind === 'live' ? 'The log' : 'The sandbox log',
        here: '/log',
        scripts: plain ? ['log-page.js'] : [],
        kind: log.kind,
        base: `/log/${log.kind}/${String(log.number)}`,
        origin: log.origin,
        vkey: log.vkey,
        size: newest.size,
        note: newest.note,
        published_at: new Date(newest.published_at_ms).toISOString(),
        checkpoints,
        curve: curveOf(checkpoints),
        asked: query,
        listing: await listingOf(log, query),
      });
    },
  );
}

interface Asked {
  readonly index?: string;
  readonly key?: string;
  readonly type?: string;
  readonly before?: string;
  readonly after?: string;
}

async function listingOf(log: Log, { index, key, type, before, after }: Asked): Promise<Listing> {
  if (index !== undefined && index !== '') return oneEntry(log, index);
  if (key !== undefined && key !== '') return chainOf(log, key, numberOf(after));
  const { size } = log.published();
  const start = Math.min(size, numberOf(before) ?? size);
  return typed(log, type === '' ? undefined : type, start);
}

const numberOf = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Number(text);

function oneEntry(log: Log, text: string): Listing {
  const index = Number(text);
  const title = `Entry ${text}`;
  const known = /^\d{1,16}$/.test(text) && index < log.published().size;
  if (known) return { title, rows: [rowOf(log, index)], next: null, fault: null };
  return { title, rows: [], next: null, fault: 'No published entry has this index.' };
}

async function chainOf(log: Log, text: string, after: number | undefined): Promise<Listing> {
  const title = `Chain ${text}`;
  const from_ms = 0;
  const to_ms = log.published().map_head_ms;
  try {
    const key = parseJson(text) as unknown as ChainKey;
    const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
    const found = await log.chain({ key, from_ms, to_ms }, page);
    const rows = found.map(({ index }) => rowOf(log, index));
    const last = rows.length === PAGE ? rows.at(-1) : undefined;
    const next = last === undefined ? null : queryOf(log, { key: text, after: last.index });
    return { title, rows, next, fault: null };
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    const fault = `This is no chain of the log: ${error.message}.`;
    return { title, rows: [], next: null, fault };
  }
}

/** Newest first, down to index 0 or as far as one request reaches. */
function typed(log: Log, type: string | undefined, start: number): Listing {
  const rows: Row[] = [];
  const end = Math.max(0, start - REACH);
  let index = start - 1;
  for (; index >= end && rows.length < PAGE; index--) {
    const row = rowOf(log, index);
    if (type === undefined || row.type === type) rows.push(row);
  }
  const rest = { ...(type === undefined ? {} : { type }), before: index + 1 };
  return {
    title: type === undefined ? 'Newest entries' : `Entries of type ${type}`,
    rows,
    next: index < 0 ? null : queryOf(log, rest),
    fault: null,
  };
}

function queryOf({ kind }: Log, members: Readonly<Record<string, string | number>>): string {
  const query = new URLSearchParams({ log: kind });
  for (const [name, value] of Object.entries(members)) query.set(name, String(value));
  return `/log?${query.toString()}`;
}

function rowOf(log: Log, index: number): Row {
  const entry = parseJson(log.entry(index) ?? 'null');
  if (!isJsonObject(entry)) throw new Error(`the log has no entry ${String(index)}`);
  const { type, entry_id, issued_at_ms } = entry as Record<string, unknown>;
  return {
    index,
    type: type as string,
    entry_id: entry_id as string,
    issued_at: new Date(issued_at_ms as number).toISOString(),
  };
}
