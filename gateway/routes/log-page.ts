// The page /log: the newest checkpoints, and entries by index, by chain or by type. It is rendered on the server, so it
// works without JavaScript; the script only reloads it. log/FORMAT.md §3, §4, §5.

import { Type } from 'typebox';
import { parseJson, readEntry } from '../../log/index.ts';
import type { ChainKey, JsonObject, Log } from '../../log/index.ts';
import { pageRoute } from '../../plugins/contract/index.ts';
import type { Route } from '../../plugins/contract/index.ts';
import type { Gateway } from '../gateway.ts';
import { integerText, kindName } from './schemas.ts';

/** Entries of a page. */
const PAGE = 25;
/** How many entries one request reads in search of a type. */
const REACH = 2000;

/** One line of the list. */
interface Row {
  readonly index: number;
  readonly type: string;
  readonly entry_id: string;
  readonly issued_at: string;
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
        after: Type.Optional(integerText('Entries of a chain after this index.')),
      }),
    },
    async (ctx) => {
      const { query } = ctx.state;
      const log = gateway.logs[query.log ?? 'live'];
      const newest = log.published();
      const checkpoints = checkpointsOf(log);
      const { indexes, ...listing } = await listingOf(log, query);
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
        listing: { ...listing, rows: indexes.map((index) => rowOf(gateway, log, index)) },
      });
    },
  );
}

interface LogQuery {
  readonly index?: string;
  readonly key?: string;
  readonly type?: string;
  readonly before?: string;
  readonly after?: string;
}

async function listingOf(
  log: Log,
  { index, key, type, before, after }: LogQuery,
): Promise<Listing> {
  if (index !== undefined && index !== '') return oneEntry(log, index);
  if (key !== undefined && key !== '') return chainOf(log, key, numberOf(after));
  const { size } = log.published();
  const start = Math.min(size, numberOf(before) ?? size);
  return entriesOfType(log, type === '' ? undefined : type, start);
}

const numberOf = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Number(text);

function oneEntry(log: Log, text: string): Listing {
  const index = Number(text);
  const title = `Entry ${text}`;
  const known = /^\d{1,16}$/.test(text) && index < log.published().size;
  if (known) return { title, indexes: [index], next: null, fault: null };
  return { title, indexes: [], next: null, fault: 'No published entry has this index.' };
}

async function chainOf(log: Log, text: string, after: number | undefined): Promise<Listing> {
  const title = `Chain ${text}`;
  const from_ms = 0;
  const to_ms = log.published().map_head_ms;
  try {
    const key = parseJson(text) as unknown as ChainKey;
    const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
    const found = await log.chain({ key, from_ms, to_ms }, page);
    const indexes = found.map(({ index }) => index);
    const last = indexes.length === PAGE ? indexes.at(-1) : undefined;
    const next = last === undefined ? null : queryOf(log, { key: text, after: last });
    return { title, indexes, next, fault: null };
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    const fault = `This is not a chain of the log: ${error.message}.`;
    return { title, indexes: [], next: null, fault };
  }
}

/** Entries of a type, newest first. One request reads at most `REACH` entries. */
function entriesOfType(log: Log, type: string | undefined, start: number): Listing {
  const indexes: number[] = [];
  const end = Math.max(0, start - REACH);
  let index = start - 1;
  for (; index >= end && indexes.length < PAGE; index--) {
    if (type === undefined || statementAt(log, index)['type'] === type) indexes.push(index);
  }
  const rest = { ...(type === undefined ? {} : { type }), before: index + 1 };
  return {
    title: type === undefined ? 'Newest entries' : `Entries of type ${type}`,
    indexes,
    next: index < 0 ? null : queryOf(log, rest),
    fault: null,
  };
}

function queryOf({ kind }: Log, members: Readonly<Record<string, string | number>>): string {
  const query = new URLSearchParams({ log: kind });
  for (const [name, value] of Object.entries(members)) query.set(name, String(value));
  return `/log?${query.toString()}`;
}

/** The statement of an entry below the published size. */
const statementAt = (log: Log, index: number): JsonObject =>
  readEntry(log.entry(index) ?? '').statement;

function rowOf(gateway: Gateway, log: Log, index: number): Row {
  const statement = statementAt(log, index);
  const { type, entry_id, issued_at_ms } = statement;
  return {
    index,
    type: type as string,
    entry_id: entry_id as string,
    issued_at: new Date(issued_at_ms as number).toISOString(),
    sentence: gateway.sentence(statement),
  };
}

/** How many checkpoints the page shows. */
const SHOWN = 24;

/** One published checkpoint. */
interface PastCheckpoint {
  readonly size: number;
  readonly ms: number;
  readonly at: string;
  /** Base64, as in the note. */
  readonly root: string;
  /** The names of its cosigners. */
  readonly cosigners: readonly string[];
  /** The size of the checkpoint before it; null if it is the first. */
  readonly previous: number | null;
}

/** The newest checkpoints, newest first. Each ends with a map head entry, which names the map head before it. */
function checkpointsOf(log: Log): PastCheckpoint[] {
  const found: PastCheckpoint[] = [];
  let size = log.published().size;
  while (size > 0 && found.length < SHOWN) {
    const note = log.published().size === size ? log.published().note : log.checkpointAt(size);
    const { issued_at_ms, prev_map_head } = parseJson(log.entry(size - 1) ?? '{}') as unknown as {
      readonly issued_at_ms: number;
      readonly prev_map_head: number | null;
    };
    const previous = prev_map_head === null ? null : prev_map_head + 1;
    // A crash can leave a map head that no checkpoint was published for. It has no note.
    if (note !== null) {
      found.push({
        size,
        ms: issued_at_ms,
        at: new Date(issued_at_ms).toISOString(),
        root: note.split('\n', 3)[2] ?? '',
        cosigners: cosignersOf(note),
        previous,
      });
    }
    size = previous ?? 0;
  }
  return found;
}

/** The names on the signature lines of a note, without the first line, which is the log's own. */
function cosignersOf(note: string): string[] {
  const lines = note.split('\n').filter((line) => line.startsWith('— '));
  return lines.slice(1).map((line) => line.split(' ', 2)[1] ?? '');
}

/** The points of a step line in a box of 100 by 30, oldest first; empty for fewer than two checkpoints. */
function curveOf(checkpoints: readonly PastCheckpoint[]): string {
  const [newest] = checkpoints;
  const oldest = checkpoints.at(-1);
  if (newest === undefined || oldest === undefined || newest === oldest) return '';
  const span = Math.max(1, newest.ms - oldest.ms);
  const growth = Math.max(1, newest.size - oldest.size);
  let last = '0,30';
  const points = checkpoints.toReversed().flatMap(({ ms, size }) => {
    const x = (((ms - oldest.ms) / span) * 100).toFixed(2);
    const y = (30 - ((size - oldest.size) / growth) * 30).toFixed(2);
    const corner = `${x},${last.split(',', 2)[1] ?? '30'}`;
    last = `${x},${y}`;
    return [corner, last];
  });
  return points.join(' ');
}
