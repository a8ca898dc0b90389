// ISO 8601 weeks in UTC, which begin on Monday. log/FORMAT.md, Notation; gateway/API.md §10.3.

/** Pattern of a week, `YYYY-Www`. */
export const WEEK = '^[0-9]{4}-W(0[1-9]|[1-4][0-9]|5[0-3])$';

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
/** The first millisecond of a time's week. 1 January 1970 was a Thursday. */
const mondayOf = (ms: number): number => {
  const day = Math.floor(ms / DAY_MS);
  return (day - ((day + 3) % 7)) * DAY_MS;
};

/** The week of a time. The year of a week is that of its Thursday. */
export function weekOf(ms: number): string {
  const thursday = mondayOf(ms) + 3 * DAY_MS;
  const year = new Date(thursday).getUTCFullYear();
  const number = 1 + Math.floor((thursday - Date.UTC(year, 0, 1)) / WEEK_MS);
  return `${String(year).padStart(4, '0')}-W${String(number).padStart(2, '0')}`;
}

/** The first and last millisecond of a week; null if the year has no such week. */
export function weekWindow(
  week: string,
): { readonly from_ms: number; readonly to_ms: number } | null {
  const [year = 0, number = 0] = week.split('-W').map(Number);
  // The first week of a year contains 4 January.
  const from_ms = mondayOf(Date.UTC(year, 0, 4)) + (number - 1) * WEEK_MS;
  return weekOf(from_ms) === week ? { from_ms, to_ms: from_ms + WEEK_MS - 1 } : null;
}

/** Like `weekWindow`, for a week from the log; throws a plain error if there is no such week. */
export function windowOf(week: string): { readonly from_ms: number; readonly to_ms: number } {
  const window = weekWindow(week);
  if (window === null) throw new Error(`${week} is not a week`);
  return window;
}

/** The week that is `count` weeks later. */
export const weekAfter = (week: string, count = 1): string =>
  weekOf(windowOf(week).from_ms + count * WEEK_MS);
