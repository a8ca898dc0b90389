// How many classifications were asked for and how they ended, from the rows that the classify plugin keeps.
// The invariant of behaviour.md §13: no attempt ends in nothing.

import { isJsonObject } from '../../log/index.ts';
import type { Json, Log } from '../../log/index.ts';

export const INVARIANT = 'attempts = safe + violation + crisis + error';

/** Attempts and outcomes of some span. */
export interface Classified {
  readonly attempts: number;
  readonly safe: number;
  readonly violation: number;
  readonly crisis: number;
  readonly error: number;
}

/** Rows of plugins/classify/entries.ts; their names sort by time. */
const TOTALS_ROW = 'classify/totals';
const HOUR_ROWS = 'classify/hours/';

const HOUR_MS = 3_600_000;
const HOURS = 24;
const NONE: Classified = { attempts: 0, safe: 0, violation: 0, crisis: 0, error: 0 };

/** Since the log began. */
export function classifiedEver(log: Log): Classified {
  return countsOf(log.row(TOTALS_ROW));
}

/** Of the hour of `now_ms` and the 23 before it. */
export async function classifiedLastDay(log: Log, now_ms: number): Promise<Classified> {
  const hour = Math.floor(now_ms / HOUR_MS);
  const rows = await log.rows(HOUR_ROWS, { reverse: true, limit: HOURS + 1 });
  return rows
    .filter(([key]) => Number(key.slice(HOUR_ROWS.length)) > hour - HOURS)
    .map(([, row]) => countsOf(row))
    .reduce(sum, NONE);
}

/** Whether every attempt has its outcome. */
export function holds({ attempts, safe, violation, crisis, error }: Classified): boolean {
  return attempts === safe + violation + crisis + error;
}

function sum(a: Classified, b: Classified): Classified {
  return {
    attempts: a.attempts + b.attempts,
    safe: a.safe + b.safe,
    violation: a.violation + b.violation,
    crisis: a.crisis + b.crisis,
    error: a.error + b.error,
  };
}

function countsOf(row: Json | undefined): Classified {
  if (row === undefined) return NONE;
  const count = (name: keyof Classified): number => {
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
