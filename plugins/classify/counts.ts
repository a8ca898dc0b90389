// How many classifications were asked for and how they ended: the rows that follow from their entries, for all time
// and by the hour, and the sums of them. The invariant of gateway/API.md §13: no attempt ends in nothing.

import { Type } from 'typebox';
import { Count, isJsonObject } from '../contract/index.ts';
import type {
  Component,
  Json,
  LogView,
  PluginHost,
  PublicMetrics,
  RowWriter,
  Sequenced,
} from '../contract/index.ts';

/** Counts of classifications: `attempts` is counted for itself, so that the invariant can fail. */
export type Counts = {
  readonly attempts: number;
  readonly safe: number;
  readonly violation: number;
  readonly crisis: number;
  readonly error: number;
};

const INVARIANT = 'attempts = safe + violation + crisis + error';

/** Whether every attempt has its outcome. */
const holds = ({ attempts, safe, violation, crisis, error }: Counts): boolean =>
  attempts === safe + violation + crisis + error;

const NO_COUNTS: Counts = { attempts: 0, safe: 0, violation: 0, crisis: 0, error: 0 };
const HOUR_MS = 3_600_000;
const HOURS = 24;

/** Of all entries, and of those of an hour; the names of hours sort by time. */
const TOTALS_ROW = 'totals';
const HOUR_ROWS = 'hours/';

/** A part of the `project` of a result: counts it. */
export function countResult({ statement, issued_at_ms }: Sequenced, rows: RowWriter): void {
  const outcome = (statement['classification'] as string).toLowerCase() as keyof Counts;
  const hour = String(Math.floor(issued_at_ms / HOUR_MS)).padStart(9, '0');
  for (const row of [`classify/${TOTALS_ROW}`, `classify/${HOUR_ROWS}${hour}`]) {
    const before = countsOf(rows.get(row));
    rows.put(row, { ...before, attempts: before.attempts + 1, [outcome]: before[outcome] + 1 });
  }
}

/** Since the log began. */
const countsEver = (log: LogView): Counts => countsOf(log.row(TOTALS_ROW));

/** Of the hour of `now_ms` and the 23 before it. */
async function countsOfLastDay(log: LogView, now_ms: number): Promise<Counts> {
  const hour = Math.floor(now_ms / HOUR_MS);
  const rows = await log.rows(HOUR_ROWS, { reverse: true, limit: HOURS + 1 });
  return rows
    .filter(([key]) => Number(key.slice(HOUR_ROWS.length)) > hour - HOURS)
    .map(([, row]) => countsOf(row))
    .reduce(sum, NO_COUNTS);
}

const Classifications = Type.Object(
  { attempts: Count, safe: Count, violation: Count, crisis: Count, error: Count },
  { $id: 'Classifications' },
);

/** What /metrics/public shows of classifications. Those of a closed log were attempts too. */
export const classificationMetrics = (host: PluginHost): PublicMetrics => ({
  members: {
    invariant: Type.Object({ formula: Type.String(), holds: Type.Boolean() }),
    classifications: Classifications,
    last_24_hours: Classifications,
  },
  async read() {
    const logs = host.logs('live');
    const classifications = logs.map(countsEver).reduce(sum, NO_COUNTS);
    const now_ms = host.now();
    const lastDays = await Promise.all(logs.map((log) => countsOfLastDay(log, now_ms)));
    return {
      invariant: { formula: INVARIANT, holds: holds(classifications) },
      classifications,
      last_24_hours: lastDays.reduce(sum, NO_COUNTS),
    };
  },
});

/** Fails when the newest live log has an attempt without an outcome. */
export const outcomesComponent = (host: PluginHost): Component => ({
  id: 'classification',
  name: 'Classification',
  fault: holds(countsEver(host.log('live'))) ? null : 'attempts are not the sum of their outcomes',
  vital: false,
});

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
