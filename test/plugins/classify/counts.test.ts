// Counts of classifications in the rows of the projection. gateway/API.md §13 (the invariant).

import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Json, Sequenced } from '../../../log/index.ts';
import { resultType, RESULTS } from '../../../plugins/classify/entries.ts';

const HOUR_MS = 3_600_000;

function project(
  results: readonly { result: string; ms: number }[],
  rule_ids: readonly string[] = [],
): Map<string, Json> {
  const rows = new Map<string, Json>();
  results.forEach(({ result, ms }, index) => {
    const statement = { classification: result, domain: 'hiring', rule_ids };
    const entry: Sequenced = {
      index,
      entry_id: '',
      issued_at_ms: ms,
      type: resultType.name,
      statement,
      links: [],
    };
    resultType.project?.(entry, {
      get: (key) => rows.get(key),
      put: (key, value) => rows.set(key, value),
      del: (key) => rows.delete(key),
    });
  });
  return rows;
}

describe('counts of classifications', () => {
  it('keep the invariant, in total and in each hour', () => {
    const one = fc.record({
      result: fc.constantFrom(...RESULTS),
      ms: fc.integer({ min: 0, max: 50 * HOUR_MS }),
    });
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 100 }), (results) => {
        const rows = project(results);
        for (const [key, row] of rows) {
          if (key.startsWith('classify/patterns/')) continue;
          const { attempts, safe, violation, crisis, error } = row as Record<string, number>;
          assert.equal(attempts, safe! + violation! + crisis! + error!);
        }
        const totals = rows.get('classify/totals') as Record<string, number>;
        assert.equal(totals['attempts'], results.length);
        for (const result of RESULTS) {
          assert.equal(
            totals[result.toLowerCase()],
            results.filter((one) => one.result === result).length,
          );
        }
        const hours = [...rows].filter(([key]) => key.startsWith('classify/hours/'));
        assert.equal(
          hours.reduce((sum, [, row]) => sum + (row as Record<string, number>)['attempts']!, 0),
          results.length,
        );
      }),
    );
  });

  it('count a rule once for each act, however often it is named', () => {
    const rows = project([{ result: 'VIOLATION', ms: 0 }], ['one', 'two', 'one']);
    assert.deepEqual(
      [...rows].filter(([key]) => key.startsWith('classify/patterns/')),
      [
        ['classify/patterns/1970-W01/hiring/one', 1],
        ['classify/patterns/1970-W01/hiring/two', 1],
      ],
    );
  });

  it('name hours so that they are sorted by time', () => {
    const times = [0, HOUR_MS - 1, HOUR_MS, 1_795_231_963_856, 1_795_231_963_856 + HOUR_MS, 9e15];
    const names = times.map((ms) => {
      const [, hour] = [...project([{ result: 'SAFE', ms }]).keys()];
      return hour ?? '';
    });
    assert.match(names[0] ?? '', /^classify\/hours\/0+$/);
    assert.deepEqual(names.toSorted(), names);
    assert.equal(names[0], names[1]);
    assert.notEqual(names[1], names[2]);
  });
});
