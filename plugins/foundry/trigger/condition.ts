// When an obligation is due: one observation against a threshold, or several in a row, within a window. Pure.
// gateway/API.md §10.6.

import { exact } from '../../decimal.ts';

/** How a value is held against the threshold. */
export const COMPARATORS = ['gt', 'gte', 'lt', 'lte', 'eq'] as const;

/** A condition as its entry has it. */
export interface Condition {
  readonly metric: string;
  readonly comparator: (typeof COMPARATORS)[number];
  /** A decimal. */
  readonly threshold: string;
  /** All that counts lies within these seconds, the newest observation's own age included. */
  readonly window_s?: number;
  /** How many observations in a row must meet the threshold; 1 is one. */
  readonly consecutive: number;
}

/** Why a trigger stays ARMED. */
export const UNMET = [
  'threshold_not_met',
  'consecutive_not_reached',
  'outside_window',
  'no_consensus',
] as const;

/** One of the reasons. */
export type Unmet = (typeof UNMET)[number];

/** What was observed, and when. */
export interface Observed {
  /** A decimal; null where the sources did not agree on one. */
  readonly value: string | null;
  readonly observed_at_ms: number;
}

/** What an observation makes of the run that stood before it. */
export interface Evaluated {
  readonly met: boolean;
  readonly reason: Unmet | null;
  /** Times of the observations in a row that met the threshold, this one last; at most `consecutive`. */
  readonly run_ms: readonly number[];
  readonly fires: boolean;
}

/** Holds a value against the threshold. */
export function meets({ comparator, threshold }: Condition, value: string): boolean {
  const [left, right] = [exact(value), exact(threshold)];
  switch (comparator) {
    case 'gt':
      return left > right;
    case 'gte':
      return left >= right;
    case 'lt':
      return left < right;
    case 'lte':
      return left <= right;
    case 'eq':
      return left === right;
  }
}

/** Evaluates an observation at `now_ms`; what is outside the window is no observation, and breaks no run. */
export function evaluate(
  condition: Condition,
  { value, observed_at_ms }: Observed,
  run_ms: readonly number[],
  now_ms: number,
): Evaluated {
  const { window_s, consecutive } = condition;
  const window_ms = window_s === undefined ? Infinity : window_s * 1000;
  if (now_ms - observed_at_ms > window_ms) {
    return { met: false, reason: 'outside_window', run_ms, fires: false };
  }
  if (value === null) return { met: false, reason: 'no_consensus', run_ms: [], fires: false };
  if (!meets(condition, value)) {
    return { met: false, reason: 'threshold_not_met', run_ms: [], fires: false };
  }
  const run = runWith(run_ms, observed_at_ms);
  const newest = run.at(-1) ?? observed_at_ms;
  const kept = run.filter((ms) => newest - ms <= window_ms).slice(-consecutive);
  const fires = kept.length >= consecutive;
  return { met: true, reason: fires ? null : 'consecutive_not_reached', run_ms: kept, fires };
}

/** A run with one more observation, by time; what falls out of it is always the oldest. */
export function runWith(run_ms: readonly number[], observed_at_ms: number): number[] {
  return [...run_ms, observed_at_ms].sort((a, b) => a - b);
}
