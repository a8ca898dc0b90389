// Type III spoliation, as arithmetic over what a surface's chains say: where heartbeats are missing, and which
// acts they counted that were never logged. gateway/API.md §9.4.

/** A heartbeat as far as it counts here; times are log times. */
export interface Beat {
  readonly ms: number;
  readonly interval_ms: number;
  readonly acts_total: number | null;
}

/** A stretch of log time. */
export interface Window {
  readonly from_ms: number;
  readonly to_ms: number;
}

/** Between two heartbeats: more acts counted than logged. */
export interface Shortfall extends Window {
  readonly acts_counted: number;
  readonly acts_logged: number;
}

/**
 * The stretches of the window in which no heartbeat came for longer than the interval; a heartbeat that
 * promises a longer interval does not count (log/FORMAT.md §6.7). Beats are in order, and may lie one
 * interval outside the window.
 */
export function uncovered(
  beats: readonly Beat[],
  { from_ms, to_ms }: Window,
  interval_ms: number,
): Window[] {
  const gaps: Window[] = [];
  let last = from_ms;
  const until = (ms: number): void => {
    if (ms - last > interval_ms) gaps.push({ from_ms: last, to_ms: ms });
    last = Math.max(last, ms);
  };
  for (const beat of beats) {
    if (beat.interval_ms <= interval_ms) until(Math.min(beat.ms, to_ms));
  }
  until(to_ms);
  return gaps;
}

/** What the counters of the heartbeats say against the entries of the surface. */
export interface Tally {
  /** null where fewer than two heartbeats of the window count acts. */
  readonly acts_counted: number | null;
  readonly acts_never_logged: number | null;
  /** How often a counter went down: what was counted across that is not known. */
  readonly counter_resets: number;
  readonly shortfalls: readonly Shortfall[];
}

/**
 * Compares counters with entries. `logged` are the log times of the surface's entries from the first
 * heartbeat to the end of the window, in order: an act that was logged late is logged.
 */
export function tally(beats: readonly Beat[], logged: readonly number[]): Tally {
  const counting = beats.filter(
    (beat): beat is Beat & { acts_total: number } => beat.acts_total !== null,
  );
  const [first] = counting;
  if (first === undefined || counting.length < 2) {
    return { acts_counted: null, acts_never_logged: null, counter_resets: 0, shortfalls: [] };
  }
  let acts_counted = 0;
  let counter_resets = 0;
  const shortfalls: Shortfall[] = [];
  let before = first;
  let at = logged.filter((ms) => ms <= first.ms).length;
  const late = logged.length - at;
  for (const beat of counting.slice(1)) {
    let acts_logged = 0;
    for (; at < logged.length && (logged[at] ?? Infinity) <= beat.ms; at++) acts_logged += 1;
    const counted = beat.acts_total - before.acts_total;
    if (counted < 0) counter_resets += 1;
    else {
      acts_counted += counted;
      if (counted > acts_logged) {
        shortfalls.push({
          from_ms: before.ms,
          to_ms: beat.ms,
          acts_counted: counted,
          acts_logged,
        });
      }
    }
    before = beat;
  }
  return {
    acts_counted,
    acts_never_logged: Math.max(0, acts_counted - late),
    counter_resets,
    shortfalls,
  };
}
