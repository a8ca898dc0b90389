// The aggregate compared with its definition, by counting every unit of weight. gateway/API.md §10.5.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { readCatalog } from '../../../plugins/index.ts';
import { decimalText, exact } from '../../../plugins/contract/index.ts';
import { aggregate, thresholdsOf } from '../../../plugins/foundry/oracle/aggregate.ts';
import type { Reading } from '../../../plugins/foundry/oracle/aggregate.ts';
import type { FoundryCatalog } from '../../../plugins/foundry/catalog.ts';

const { oracle } = readCatalog('foundry.json') as unknown as FoundryCatalog;
const THRESHOLDS = thresholdsOf(oracle.limits);
const NOW = 1_800_000_000_000;

/** Readings of the first sources of the catalog, in millionths. */
function readings(values: readonly number[], observed_at_ms = NOW): Reading[] {
  return values.map((value, i) => {
    const { source_id, weight, latency_ms } = oracle.sources[i]!;
    return {
      source_id,
      value: decimalText(exact(String(value)) / 1_000_000n),
      observed_at_ms,
      weight_milli: Math.round(weight * 1000),
      max_age_ms: Math.max(3 * latency_ms, 60_000),
    };
  });
}

const judge = (values: readonly number[]) => aggregate(readings(values), THRESHOLDS, NOW);

/** Each value once for each 0.02 of its weight, so that every cut is between two of them. */
const countedOut = (items: readonly { value: number; weight: number }[]): number[] =>
  [...items]
    .sort((a, b) => a.value - b.value)
    .flatMap(({ value, weight }) => Array<number>(weight / 20).fill(value));

function middle(sorted: readonly number[]): number {
  const half = sorted.length / 2;
  return Number.isInteger(half)
    ? (sorted[half - 1]! + sorted[half]!) / 2
    : sorted[Math.floor(half)]!;
}

/** The definition with plain numbers: the median, the rejected readings, the mean of the middle 60 %. */
function defined(values: readonly number[]) {
  const items = values.map((value, i) => ({
    value,
    weight: Math.round(oracle.sources[i]!.weight * 1000),
  }));
  const median = middle(countedOut(items));
  const off = items.map(({ value, weight }) => ({ value: Math.abs(value - median), weight }));
  const mad = middle(countedOut(off));
  const kept = items.filter(({ value }) => {
    const distance = Math.abs(value - median);
    // With integers, because a reading may be exactly at the bound.
    return mad === 0 ? distance * 100 <= Math.abs(median) : distance * 6745 <= 35_000 * mad;
  });
  const all = countedOut(kept);
  const cut = all.length / 5;
  const left = all.slice(cut, all.length - cut);
  const mean = left.reduce((sum, value) => sum + value, 0) / left.length;
  return { median, mean, kept: kept.length };
}

const integers = (max: number) => fc.integer({ min: -max, max });

describe('weighted_trimmed_mean_v1', () => {
  it('equals the result of counting every unit of weight', () => {
    const values = fc.array(integers(10_000), { minLength: 3, maxLength: 5 });
    fc.assert(
      fc.property(values, (given) => {
        const { median, value, readings: judged } = judge(given);
        const expected = defined(given);
        assert.ok(Math.abs(Number(median) * 1e6 - expected.median) < 1e-6);
        assert.equal(
          judged.filter(({ standing }) => standing === 'survived').length,
          expected.kept,
        );
        assert.ok(
          Math.abs(Number(value) * 1e6 - expected.mean) < 1e-6,
          `${value} ${expected.mean}`,
        );
      }),
      { numRuns: 500 },
    );
  });

  it('does not depend on the order of the readings', () => {
    const values = fc.array(integers(1000), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(values, fc.infiniteStream(fc.nat()), (given, keys) => {
        const all = readings(given);
        const order = new Map(all.map((reading) => [reading, keys.next().value as number]));
        const shuffled = [...all].sort((a, b) => order.get(a)! - order.get(b)!);
        const { readings: _, ...one } = aggregate(all, THRESHOLDS, NOW);
        const { readings: __, ...other } = aggregate(shuffled, THRESHOLDS, NOW);
        assert.deepEqual(other, one);
      }),
    );
  });

  it('moves with any two colluding sources at most dispute_tolerance times the median', () => {
    // If two of five sources report anything, a value that can fire stays this close to each honest surviving
    // reading.
    const honest = fc.array(fc.integer({ min: 990_000, max: 1_010_000 }), {
      minLength: 3,
      maxLength: 3,
    });
    const bad = fc.oneof(integers(2_000_000_000), fc.integer({ min: 900_000, max: 1_100_000 }));
    const places = fc.uniqueArray(fc.nat({ max: 4 }), { minLength: 2, maxLength: 2 });
    let agreed = 0;
    fc.assert(
      fc.property(honest, fc.tuple(bad, bad), places, (good, lies, [a, b]) => {
        const values: number[] = [];
        const [goods, bads] = [[...good], [...lies]];
        for (let i = 0; i < 5; i++) values.push((i === a || i === b ? bads : goods).shift()!);
        const { state, consensus, median, readings: judged } = judge(values);
        const honestAt = [0, 1, 2, 3, 4].filter((i) => i !== a && i !== b);
        // The two heaviest sources weigh 2.3 of 5.2, so the median stays among the honest readings.
        const [least, most] = [Math.min(...good), Math.max(...good)];
        assert.ok(Number(median) * 1e6 >= least - 1e-6 && Number(median) * 1e6 <= most + 1e-6);
        if (state !== 'CONSENSUS') {
          assert.equal(consensus, null, 'no condition can fire');
          return;
        }
        agreed++;
        const bound = 0.05 * Math.abs(Number(median)) * 1e6 + 1e-6;
        for (const i of honestAt) {
          if (judged[i]?.standing !== 'survived') continue;
          const value = values[i]!;
          assert.ok(
            Math.abs(Number(consensus) * 1e6 - value) <= bound,
            `${values.join()} ${consensus}`,
          );
        }
      }),
      { numRuns: 2000 },
    );
    assert.ok(agreed > 0, 'some faulty values were close enough to agree');
  });

  it('agrees if all sources report the same value', () => {
    const { state, consensus, spread, rejected_weight_milli } = judge([7, 7, 7, 7, 7]);
    assert.deepEqual([state, consensus, spread], ['CONSENSUS', '0.000007', '0']);
    assert.equal(rejected_weight_milli, 0);
    assert.equal(judge([0, 0, 0]).consensus, '0');
  });

  it('is disputed by spread, by rejected weight and by too few survivors', () => {
    const wide = judge([1_000_000, 1_060_000, 1_030_000]);
    assert.deepEqual([wide.state, wide.dispute_reasons], ['DISPUTED', ['spread']]);
    assert.equal(wide.consensus, null);
    assert.ok(wide.value !== null, 'the value is still shown');
    const heavy = judge([1_000_000, 1_000_000, 1_000_000, 1_020_000, 1_030_000]);
    assert.deepEqual(heavy.dispute_reasons, ['rejected_weight']);
    const few = judge([1_000_000, 1_000_000, 1_020_000]);
    assert.deepEqual(few.dispute_reasons, ['survivors']);
  });

  it('is not disputed by one source below a third of the weight, however far off it is', () => {
    const alone = (far: number) => judge([1_000_000, 1_000_000, 1_000_000, far]);
    for (const far of [0, 2_000_000, 9_000_000_000]) {
      const { state, consensus, spread, readings: judged } = alone(far);
      assert.deepEqual([state, consensus, spread], ['CONSENSUS', '1', '0']);
      assert.equal(judged[3]?.standing, 'rejected');
    }
  });

  it('is disputed over 5 % and not at 5 %', () => {
    const at = (high: number) => judge([1_000_000, 1_000_000 + high / 2, 1_000_000 + high]);
    // Relative to the median, 1 + high / 2.
    assert.equal(at(51_282).state, 'CONSENSUS');
    assert.equal(at(51_284).state, 'DISPUTED');
  });

  it('counts neither stale readings nor readings from the future', () => {
    const [a, b, c, d] = readings([5, 5, 5, 900]);
    const limit = d!.max_age_ms;
    const of = (observed_at_ms: number) =>
      aggregate([a!, b!, c!, { ...d!, observed_at_ms }], THRESHOLDS, NOW);
    assert.equal(of(NOW - limit).readings[3]?.standing, 'rejected', 'exactly at the maximum age');
    assert.equal(of(NOW - limit - 1).readings[3]?.standing, 'stale');
    assert.equal(of(NOW - limit - 1).state, 'CONSENSUS');
    assert.equal(
      of(NOW + 60_000).readings[3]?.standing,
      'rejected',
      'within the allowed clock skew',
    );
    assert.equal(of(NOW + 60_001).readings[3]?.standing, 'future');
  });

  it('is insufficient with fewer than three fresh readings, and computes what it can', () => {
    assert.deepEqual([judge([1, 1]).state, judge([1, 1]).consensus], ['INSUFFICIENT', null]);
    const stale = aggregate(readings([1, 2, 3], 0), THRESHOLDS, NOW);
    assert.deepEqual([stale.state, stale.value, stale.median], ['INSUFFICIENT', null, null]);
    assert.deepEqual(stale.dispute_reasons, []);
  });

  it('is correct for the smallest and largest decimals', () => {
    const huge = '9'.repeat(31);
    const of = (values: readonly string[]) =>
      aggregate(
        readings([1, 2, 3]).map((reading, i) => ({ ...reading, value: values[i]! })),
        THRESHOLDS,
        NOW,
      );
    assert.equal(of([huge, huge, huge]).consensus, huge);
    const widest = of([`-${huge}`, '0', huge]);
    assert.deepEqual([widest.state, widest.spread], ['DISPUTED', '1000000000000'], 'up to 10^12');
    const tiny = '0.000000000000000001';
    assert.equal(of([tiny, tiny, tiny]).consensus, tiny);
  });
});
