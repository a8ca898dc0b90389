// Tests of the arithmetic of plugins/absence/spoliation.ts. gateway/API.md §9.4.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { tally, uncovered } from '../../../plugins/absence/spoliation.ts';
import type { Beat } from '../../../plugins/absence/spoliation.ts';

const beat = (
  ms: number,
  acts_total: number | null = null,
  interval_ms = 10,
  run_since_ms = 0,
): Beat => ({ ms, interval_ms, run_since_ms, acts_total });

describe('plugins/absence/coverage', () => {
  it('finds no gap while heartbeats arrive as promised', () => {
    const beats = [0, 10, 20, 30].map((ms) => beat(ms));
    assert.deepEqual(uncovered(beats, { from_ms: 0, to_ms: 40 }, 10), []);
    assert.deepEqual(uncovered([beat(8)], { from_ms: 0, to_ms: 18 }, 10), []);
  });

  it('finds gaps at the beginning, in the middle, at the end, and in an empty window', () => {
    const beats = [15, 20, 40].map((ms) => beat(ms));
    assert.deepEqual(uncovered(beats, { from_ms: 0, to_ms: 60 }, 10), [
      { from_ms: 0, to_ms: 15 },
      { from_ms: 20, to_ms: 40 },
      { from_ms: 40, to_ms: 60 },
    ]);
    assert.deepEqual(uncovered([], { from_ms: 5, to_ms: 60 }, 10), [{ from_ms: 5, to_ms: 60 }]);
  });

  it('ignores heartbeats that promise less than the manifest', () => {
    const beats = [beat(0), beat(10, null, 11), beat(20)];
    assert.deepEqual(uncovered(beats, { from_ms: 0, to_ms: 20 }, 10), [{ from_ms: 0, to_ms: 20 }]);
  });

  it('accepts heartbeats just outside the window for its ends', () => {
    const beats = [beat(95), beat(105), beat(115)];
    assert.deepEqual(uncovered(beats, { from_ms: 100, to_ms: 112 }, 10), []);
  });

  it('finds exactly the intervals between neighbours that are too long (brute force)', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(200), { maxLength: 30 }),
        fc.nat(200),
        fc.nat(200),
        fc.integer({ min: 1, max: 40 }),
        (times, a, b, interval) => {
          const [from_ms, to_ms] = [Math.min(a, b), Math.max(a, b)];
          const sorted = times.toSorted((x, y) => x - y);
          const gaps = uncovered(
            sorted.map((ms) => beat(ms, null, interval)),
            { from_ms, to_ms },
            interval,
          );
          const marks = [from_ms, ...sorted.filter((ms) => ms > from_ms && ms < to_ms), to_ms];
          const expected = marks
            .slice(1)
            .map((ms, i) => ({ from_ms: marks[i] ?? 0, to_ms: ms }))
            .filter((gap) => gap.to_ms - gap.from_ms > interval);
          assert.deepEqual(gaps, expected);
        },
      ),
    );
  });

  it('reports nothing about acts if fewer than two heartbeats count them', () => {
    const none = { acts_counted: null, acts_never_logged: null, counter_resets: 0, shortfalls: [] };
    assert.deepEqual(tally([], [1, 2]), none);
    assert.deepEqual(tally([beat(0, 5), beat(10)], [1]), none);
  });

  it('finds acts that were counted and never logged, and between which heartbeats', () => {
    const beats = [beat(0, 5), beat(10, 7), beat(20), beat(30, 10)];
    assert.deepEqual(tally(beats, [0, 4, 9, 25]), {
      acts_counted: 5,
      acts_never_logged: 2,
      counter_resets: 0,
      shortfalls: [{ from_ms: 10, to_ms: 30, acts_counted: 3, acts_logged: 1 }],
    });
  });

  it('counts an act that was logged late, and accepts more entries than counted', () => {
    const late = tally([beat(0, 0), beat(10, 2)], [5, 15]);
    assert.equal(late.acts_never_logged, 0);
    assert.equal(late.shortfalls.length, 1);
    assert.equal(tally([beat(0, 0), beat(10, 1)], [5, 6, 7]).acts_never_logged, 0);
  });

  it('reports nothing about acts before a counter was reset', () => {
    const { acts_counted, counter_resets } = tally([beat(0, 9), beat(10, 2), beat(20, 4)], []);
    assert.deepEqual([acts_counted, counter_resets], [2, 1]);
  });

  it('compares each run by itself: a surplus in one hides no shortfall in another', () => {
    const inRun = (since: number) => (ms: number, acts: number) => beat(ms, acts, 10, since);
    const [one, two] = [inRun(0), inRun(100)];
    const beats = [one(0, 0), one(10, 3), two(100, 3), two(110, 3)];
    const lacking = (logged: readonly number[]) => tally(beats, logged).acts_never_logged;
    assert.equal(lacking([102, 104, 106]), 3, 'counts the surplus of the second run');
    assert.equal(lacking([50, 60, 70]), 0, 'logged late, but before the next run');
    const surplusFirst = [one(0, 0), one(10, 0), two(100, 0), two(110, 2)];
    assert.equal(tally(surplusFirst, [1, 2, 3]).acts_never_logged, 2);
    const between = [one(0, 0), one(10, 0), two(100, 2)];
    assert.equal(tally(between, [1, 2]).acts_never_logged, 2, 'counted between the two runs');
  });

  it('ends a run if a counter decreases', () => {
    const { acts_never_logged } = tally([beat(0, 0), beat(5, 2), beat(9, 0)], [7, 8]);
    assert.equal(acts_never_logged, 2);
  });
});
