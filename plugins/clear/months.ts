// Months of the log's clock, in UTC. log/FORMAT.md, Notation; gateway/API.md §10.2.

/** `YYYY-MM`. */
export const MONTH = '^[0-9]{4}-(0[1-9]|1[0-2])$';

/** The month asked for last: one act after another lies in it. */
let last = { from_ms: 0, to_ms: 0, month: '' };

/** The month that a time lies in. */
export function monthOf(ms: number): string {
  if (ms < last.from_ms || ms >= last.to_ms) {
    const date = new Date(ms);
    const from_ms = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
    last = { from_ms, to_ms: nextMonthMs(ms), month: date.toISOString().slice(0, 7) };
  }
  return last.month;
}

/** The first millisecond of the month after the one that a time lies in. */
export function nextMonthMs(ms: number): number {
  const date = new Date(ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** `count` months that end with this one, newest first. */
export function monthsBack(month: string, count: number): string[] {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return Array.from({ length: count }, (_, i) => monthOf(Date.UTC(year, number - 1 - i, 1)));
}
