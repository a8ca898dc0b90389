// Weeks of the log's clock: ISO 8601, in UTC, from Monday. log/FORMAT.md, Notation; gateway/API.md §10.3.

/** `YYYY-Www`. */
export const WEEK = '^[0-9]{4}-W(0[1-9]|[1-4][0-9]|5[0-3])$';

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
/** 1 January 1970 was a Thursday. */
const mondayOf = (ms: number): number => {
  const day = Math.floor(ms / DAY_MS);
  return (day - ((day + 3) % 7)) * DAY_MS;
};

/** The week that a time lies in; its year is that of its Thursday. */
export function weekOf(ms: number): string {
  const thursday = mondayOf(ms) + 3 * DAY_MS;
  const year = new Date(thursday).getUTCFullYear();
  const number = 1 + Math.floor((thursday - Date.UTC(year, 0, 1)) / WEEK_MS);
  return `${String(year).padStart(4, '0')}-W${String(number).padStart(2, '0')}`;
}

/** A week's first and last millisecond; null for a week that its year does not have. */
export function weekWindow(
  week: string,
): { readonly from_ms: number; readonly to_ms: number } | null {
  const [year = 0, number = 0] = week.split('-W').map(Number);
  // The first week is the one with 4 January in it.
  const from_ms = mondayOf(Date.UTC(year, 0, 4)) + (number - 1) * WEEK_MS;
  return weekOf(from_ms) === week ? { from_ms, to_ms: from_ms + WEEK_MS - 1 } : null;
}

/** `weekWindow` of a week that the log itself names. */
export function windowOf(week: string): { readonly from_ms: number; readonly to_ms: number } {
  const window = weekWindow(week);
  if (window === null) throw new Error(`${week} is no week`);
  return window;
}

/** The week so many weeks later. */
export const weekAfter = (week: string, count = 1): string =>
  weekOf(windowOf(week).from_ms + count * WEEK_MS);
