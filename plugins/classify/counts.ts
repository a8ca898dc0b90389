// How many classifications were asked for and how they ended: the rows that follow from their entries, for all time
// and by the hour, and the sums of them. The invariant of gateway/API.md §13: no attempt ends in nothing.

import { isJsonObject } from '../../log/index.ts';
import type { Json, Log } from '../../log/index.ts';
import type { RowWriter, Sequenced } from '../contract.ts';

/** Counts of classifications: `attempts` is counted for itself, so that the invariant can fail. */
export interface Counts {
  readonly attempts: number;
  readonly safe: number;
  readonly violation: number;
  readonly crisis: number;
  readonly error: number;
}

export const INVARIANT = 'attempts = safe + violation + crisis + error';

/** Whether every attempt has its outcome. */
export const holds = ({ attempts, safe, violation, crisis, error }: Counts): boolean =>
  attempts === safe + violation + crisis + error;

const NO_COUNTS: Counts = { attempts: 0, safe: 0, violation: 0, crisis: 0, error: 0 };
const HOUR_MS = 3_600_000;
const HOURS = 24;

/** Of all entries, and of those of an hour; the names of hours sort by time. */
const TOTALS_ROW = 'classify/totals';
const HOUR_ROWS = 'classify/hours/';

/** The `project` of a result: counts it. */
export function countResult({ statement, issued_at_ms }: Sequenced, rows: RowWriter): void {
  const outcome = (statement['classification'] as string).toLowerCase() as keyof Counts;
  const hour = String(Math.floor(issued_at_ms / HOUR_MS)).padStart(9, '0');
  for (const row of [TOTALS_ROW, HOUR_ROWS + hour]) {
    const before = countsOf(rows.get(row));
    rows.put(row, { ...before, attempts: before.attempts + 1, [outcome]: before[outcome] + 1 });
  }
}

/** Since the log began. */
export const countsEver = (log: Pick<Log, 'row'>): Counts => countsOf(log.row(TOTALS_ROW));

/** Of the hour of `now_ms` and the 23 before it. */
export async function countsOfLastDay(log: Pick<Log, 'rows'>, now_ms: number): Promise<Counts> {
  const hour = Math.floor(now_ms / HOUR_MS);
  const rows = await log.rows(HOUR_ROWS, { reverse: true, limit: HOURS + 1 });
  return rows
    .filter(([key]) => Number(key.slice(HOUR_ROWS.length)) > hour - HOURS)
    .map(([, row]) => countsOf(row))
    .reduce(sum, NO_COUNTS);
}

function sum(a: Counts, b: Counts): Counts {
  return {
    attempts: a.attempts + b.attempts,
    safe: a.safe + b.safe,
    violation: a.violation + b.violation,
    crisis: a.crisis + b.crisis,
    error: a.error + b.error,
  };
}

function countsOf(row: Json | undefined): Counts {
  if (row === undefined) return NO_COUNTS;
  const count = (name: keyof Counts): number => {
    const value = isJsonObject(row) ? (row[name] ?? 0) : undefined;
    if (typeof value !== 'number') throw new Error('a row of classify counts has another form');
    return value;
  };
  return {
    attempts: count('attempts'),
    safe: count('safe'),
    violation: count('violation'),
    crisis: count('crisis'),
    error: count('error'),
  };
}
