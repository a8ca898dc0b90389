// Aggregates readings to one value: weighted_trimmed_mean_v1, with its guard. gateway/API.md §10.5.
//
// Pure: anyone who has the statement can compute the value again. Weights are integers (thousandths); values are
// exact decimals.

import { decimalText, divided, exact, FORMAT, magnitude, quotient } from '../../contract/index.ts';
import type { Exact } from '../../contract/index.ts';
import type { OracleLimits } from '../catalog.ts';

/** A value and what it counts. */
interface Weighted {
  readonly value: Exact;
  readonly weight: bigint;
}

/** A ratio of integers, from a decimal ("0.2") or a fraction ("1/3"). */
interface Ratio {
  readonly over: bigint;
  readonly under: bigint;
}

/** Reads a ratio of the catalog. */
function ratioOf(text: string): Ratio {
  const [over = '', under] = text.split('/');
  if (under !== undefined) return { over: BigInt(over), under: BigInt(under) };
  return { over: exact(over), under: exact('1') };
}

/** The sum of the weights. */
function weightOf(items: readonly Weighted[]): bigint {
  return items.reduce((sum, { weight }) => sum + weight, 0n);
}

/** The value with half of the weight on either side; the mean of two where the halves meet. Not of nothing. */
function weightedMedian(items: readonly Weighted[]): Exact {
  const sorted = byValue(items);
  const total = weightOf(sorted);
  let below = 0n;
  for (const [i, { value, weight }] of sorted.entries()) {
    below += weight;
    if (2n * below > total) return value;
    const next = sorted[i + 1];
    if (2n * below === total && next !== undefined) return divided(value + next.value, 2n);
  }
  throw new RangeError('the median of nothing');
}

/**
 * The mean of what is left when `trim` of the total weight is cut off at each end; a value at the cut
 * counts with the part of its weight that is left.
 */
function trimmedMean(items: readonly Weighted[], trim: Ratio): Exact {
  const sorted = byValue(items);
  const total = weightOf(sorted) * trim.under;
  const low = weightOf(sorted) * trim.over;
  const high = total - low;
  let at = 0n;
  let sum = 0n;
  let kept = 0n;
  for (const { value, weight } of sorted) {
    const end = at + weight * trim.under;
    const part = least(end, high) - most(at, low);
    if (part > 0n) {
      sum += value * part;
      kept += part;
    }
    at = end;
  }
  return divided(sum, kept);
}

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const most = (a: bigint, b: bigint): bigint => (a > b ? a : b);

const byValue = (items: readonly Weighted[]): Weighted[] =>
  [...items].sort((a, b) => (a.value < b.value ? -1 : a.value > b.value ? 1 : 0));

/** Name of the algorithm; a change of any rule here is another name. */
export const METHOD = 'weighted_trimmed_mean_v1';

/** What an aggregate may be. Only CONSENSUS fires a trigger. */
export const STATES = ['CONSENSUS', 'DISPUTED', 'INSUFFICIENT'] as const;

/** One of the states. */
export type State = (typeof STATES)[number];

/** What a reading counts: it survived, was rejected as far off, or was not fresh. */
export const STANDINGS = ['survived', 'rejected', 'stale', 'future'] as const;

/** Why an aggregate is disputed. */
export const REASONS = ['spread', 'rejected_weight', 'survivors'] as const;

/** A reading as it is judged. */
export interface Reading {
  readonly source_id: string;
  /** A decimal of log/FORMAT.md §2. */
  readonly value: string;
  readonly observed_at_ms: number;
  readonly weight_milli: number;
  /** The oldest that it may be. */
  readonly max_age_ms: number;
}

/** A reading and what it counted. */
interface Judged extends Reading {
  readonly standing: (typeof STANDINGS)[number];
}

/** The members of the statement by which the rules decide. */
interface Thresholds {
  readonly min_readings: number;
  readonly min_survivors: number;
  readonly mad_threshold: string;
  /** In place of the MAD where that is 0, a part of the median. */
  readonly mad_zero_tolerance: string;
  readonly trim_each_tail: string;
  readonly dispute_tolerance: string;
  readonly max_rejected_weight: string;
  readonly future_skew_ms: number;
}

/** An aggregate. Decimals are text; null where there is nothing to compute from. */
export interface Aggregate {
  readonly state: State;
  readonly dispute_reasons: readonly (typeof REASONS)[number][];
  /** The value that counts: null unless CONSENSUS. */
  readonly consensus: string | null;
  /** The trimmed mean of the survivors, also where it is disputed. */
  readonly value: string | null;
  readonly median: string | null;
  /** Of the readings that survived, relative to the median; null where none did. Shown up to 10^12. */
  readonly spread: string | null;
  readonly fresh_weight_milli: number;
  readonly rejected_weight_milli: number;
  readonly readings: readonly Judged[];
}

/** 0.6745 makes the MAD of a normal distribution its standard deviation (Iglewicz and Hoaglin). */
const NORMAL: Ratio = { over: 6745n, under: 10_000n };
/** The median that a spread is relative to is never taken smaller. */
const SMALLEST_MEDIAN = exact('0.000000001');
const MAD_ZERO_TOLERANCE = '0.01';
const WIDEST_SHOWN = exact('1000000000000');

/** Thresholds of the catalog, with the caller's tolerance where there is one. */
export function thresholdsOf(limits: OracleLimits, dispute_tolerance?: string): Thresholds {
  const { min_readings, min_survivors, mad_threshold, trim_each_tail } = limits;
  return {
    min_readings,
    min_survivors,
    mad_threshold,
    mad_zero_tolerance: MAD_ZERO_TOLERANCE,
    trim_each_tail,
    dispute_tolerance: dispute_tolerance ?? limits.dispute_tolerance,
    max_rejected_weight: limits.max_rejected_weight,
    future_skew_ms: FORMAT.skew_ms,
  };
}

interface Fresh extends Weighted {
  readonly reading: Reading;
}

/** Judges readings as of a time. The order of the readings does not matter. */
export function aggregate(
  readings: readonly Reading[],
  thresholds: Thresholds,
  as_of_ms: number,
): Aggregate {
  const { min_readings, min_survivors, future_skew_ms } = thresholds;
  const timely = (reading: Reading): 'fresh' | 'stale' | 'future' => {
    if (reading.observed_at_ms > as_of_ms + future_skew_ms) return 'future';
    return as_of_ms - reading.observed_at_ms > reading.max_age_ms ? 'stale' : 'fresh';
  };
  const fresh = readings
    .filter((reading) => timely(reading) === 'fresh')
    .map((reading): Fresh => {
      return { reading, value: exact(reading.value), weight: BigInt(reading.weight_milli) };
    });
  const median = fresh.length === 0 ? null : weightedMedian(fresh);
  const rejected = new Set(median === null ? [] : outliers(fresh, median, thresholds));
  const judged = readings.map((reading): Judged => {
    const when = timely(reading);
    if (when !== 'fresh') return { ...reading, standing: when };
    return { ...reading, standing: rejected.has(reading) ? 'rejected' : 'survived' };
  });
  const survivors = fresh.filter(({ reading }) => !rejected.has(reading));
  const out = fresh.filter(({ reading }) => rejected.has(reading));
  const value = survivors.length === 0 ? null : meanOf(survivors, thresholds);
  const spread = median === null || survivors.length === 0 ? null : spreadOf(survivors, median);
  const reasons: (typeof REASONS)[number][] = [];
  if (spread !== null && spread > exact(thresholds.dispute_tolerance)) reasons.push('spread');
  const { over, under } = ratioOf(thresholds.max_rejected_weight);
  if (weightOf(out) * under > weightOf(fresh) * over) reasons.push('rejected_weight');
  if (survivors.length < min_survivors) reasons.push('survivors');
  const enough = fresh.length >= min_readings;
  const state = !enough ? 'INSUFFICIENT' : reasons.length > 0 ? 'DISPUTED' : 'CONSENSUS';
  const shown = value === null ? null : decimalText(value);
  return {
    state,
    dispute_reasons: enough ? reasons : [],
    consensus: state === 'CONSENSUS' ? shown : null,
    value: shown,
    median: median === null ? null : decimalText(median),
    spread: spread === null ? null : decimalText(spread > WIDEST_SHOWN ? WIDEST_SHOWN : spread),
    fresh_weight_milli: Number(weightOf(fresh)),
    rejected_weight_milli: Number(weightOf(out)),
    readings: judged,
  };
}

const meanOf = (survivors: readonly Fresh[], { trim_each_tail }: Thresholds): Exact =>
  trimmedMean(survivors, ratioOf(trim_each_tail));

function outliers(fresh: readonly Fresh[], median: Exact, thresholds: Thresholds): Reading[] {
  const distance = ({ value }: Fresh): Exact => magnitude(value - median);
  const mad = weightedMedian(fresh.map((item) => ({ value: distance(item), weight: item.weight })));
  const cut = ratioOf(thresholds.mad_threshold);
  const zero = ratioOf(thresholds.mad_zero_tolerance);
  const isOut = (item: Fresh): boolean =>
    mad === 0n
      ? distance(item) * zero.under > magnitude(median) * zero.over
      : distance(item) * NORMAL.over * cut.under > mad * cut.over * NORMAL.under;
  return fresh.filter(isOut).map(({ reading }) => reading);
}

function spreadOf(survivors: readonly Fresh[], median: Exact): Exact {
  const values = survivors.map(({ value }) => value);
  const [first = 0n] = values;
  const high = values.reduce((a, b) => (a > b ? a : b), first);
  const low = values.reduce((a, b) => (a < b ? a : b), first);
  const base = magnitude(median);
  return quotient(high - low, base > SMALLEST_MEDIAN ? base : SMALLEST_MEDIAN);
}
