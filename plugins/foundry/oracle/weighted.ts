// Order statistics over weighted values, exact. gateway/API.md §10.5.
// Weights are integers (thousandths); values are exact decimals.

import { divided, exact } from '../../decimal.ts';
import type { Exact } from '../../decimal.ts';

/** A value and what it counts. */
export interface Weighted {
  readonly value: Exact;
  readonly weight: bigint;
}

/** A ratio of integers, from a decimal ("0.2") or a fraction ("1/3"). */
export interface Ratio {
  readonly over: bigint;
  readonly under: bigint;
}

/** Reads a ratio of the catalog. */
export function ratioOf(text: string): Ratio {
  const [over = '', under] = text.split('/');
  if (under !== undefined) return { over: BigInt(over), under: BigInt(under) };
  return { over: exact(over), under: exact('1') };
}

/** The sum of the weights. */
export function weightOf(items: readonly Weighted[]): bigint {
  return items.reduce((sum, { weight }) => sum + weight, 0n);
}

/** The value with half of the weight on either side; the mean of two where the halves meet. Not of nothing. */
export function weightedMedian(items: readonly Weighted[]): Exact {
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
export function trimmedMean(items: readonly Weighted[], trim: Ratio): Exact {
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
