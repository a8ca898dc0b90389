// How many acts each rule of the classifier matched, by ISO week and domain: rows that follow from the results, and
// their sums over all logs of a kind. gateway/API.md §6.6.

import { namedStatement, weekOf } from '../contract/index.ts';
import type { LogView, RowWriter, Sequenced } from '../contract/index.ts';

/** A sum over all tenants. */
export interface Pattern {
  /** `YYYY-Www` of UTC. */
  readonly week: string;
  readonly domain: string;
  readonly rule_id: string;
  /** Results in which the rule matched at least once. */
  readonly acts: number;
}

/** Which patterns are asked for. */
export interface PatternQuery {
  readonly week?: string | undefined;
  /** `patternPlace` of the pattern behind which they begin. */
  readonly after?: string | undefined;
}

/** Followed by week, domain and rule, so that rows sort in this order. */
const ROWS = 'patterns/';

/** Rows that are read at once. */
const CHUNK = 256;

/** Where a pattern is in the order of all. */
export const patternPlace = ({ week, domain, rule_id }: Omit<Pattern, 'acts'>): string =>
  `${week}/${domain}/${rule_id}`;

/** A part of the `project` of a result: counts each rule that matched, once. */
export function countPatterns({ statement, issued_at_ms }: Sequenced, rows: RowWriter): void {
  const { domain, rule_ids } = statement as unknown as {
    readonly domain: string;
    readonly rule_ids: readonly string[];
  };
  const week = weekOf(issued_at_ms);
  for (const rule_id of new Set(rule_ids)) {
    const row = `classify/${ROWS}${patternPlace({ week, domain, rule_id })}`;
    rows.put(row, numberOf(rows.get(row)) + 1);
  }
}

/**
 * The patterns of closed weeks, summed over the logs of a kind, in the order of `patternPlace`. A week is closed when
 * the newest entry is later: times of entries never decrease, so the sums of the week are final.
 *
 * @param logs oldest first
 */
export async function* closedPatterns(
  logs: readonly LogView[],
  query: PatternQuery,
): AsyncGenerator<Pattern> {
  const newest = logs.at(-1);
  if (newest === undefined || newest.size() === 0) return;
  const last = namedStatement(newest, newest.size() - 1);
  const open = weekOf(last['issued_at_ms'] as number);
  const { week, after } = query;
  if (week !== undefined && after !== undefined && after.slice(0, week.length) > week) return;
  const streams = logs.map((log) => rowsOf(log, query));
  let heads = await Promise.all(streams.map(next));
  for (;;) {
    const place = heads.flatMap((head) => (head === null ? [] : [head[0]])).sort(byText)[0];
    if (place === undefined) return;
    const [of = '', domain = '', rule_id = ''] = place.split('/');
    if (of >= open) return;
    const acts = heads.reduce((sum, head) => sum + (head?.[0] === place ? head[1] : 0), 0);
    yield { week: of, domain, rule_id, acts };
    heads = await Promise.all(
      heads.map(async (head, i) => (head?.[0] === place ? next(streams[i]) : head)),
    );
  }
}

type Row = readonly [place: string, acts: number];

/** The rows of one log, in order. */
async function* rowsOf(log: LogView, { week, after }: PatternQuery): AsyncGenerator<Row> {
  const prefix = week === undefined ? ROWS : `${ROWS}${week}/`;
  const behind = after === undefined ? '' : ROWS + after;
  let start = behind.startsWith(prefix) ? behind : undefined;
  for (;;) {
    const page = await log.rows(prefix, {
      limit: CHUNK,
      ...(start === undefined ? {} : { after: start }),
    });
    for (const [key, acts] of page) yield [key.slice(ROWS.length), numberOf(acts)];
    if (page.length < CHUNK) return;
    start = page.at(-1)?.[0];
  }
}

async function next(rows: AsyncGenerator<Row> | undefined): Promise<Row | null> {
  const found = await rows?.next();
  return found === undefined || found.done === true ? null : found.value;
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function numberOf(row: unknown): number {
  if (row === undefined) return 0;
  if (typeof row !== 'number') throw new Error('a row of classify patterns has another form');
  return row;
}
