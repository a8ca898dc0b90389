// General average: nets sum to zero for any input, and shares are in proportion to the values. York-Antwerp Rules
// 2016.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { adjust } from '../../../plugins/orn/general-average.ts';

const amount = fc.bigInt({ min: 0n, max: 10n ** 16n });

describe('general average', () => {
  it('has nets that sum to zero, and contributions that sum to the allowance', () => {
    const parties = fc.array(fc.record({ saved: amount, sacrificed: amount }), {
      minLength: 2,
      maxLength: 12,
    });
    fc.assert(
      fc.property(parties, amount, fc.option(fc.nat()), (stakes, expenditure, by) => {
        const average = {
          ...{ parties: stakes, expenditure },
          expenditure_by: by === null ? null : by % stakes.length,
        };
        fc.pre(stakes.some(({ saved, sacrificed }) => saved + sacrificed > 0n));
        const { allowance, contributory, contributions, nets, outside } = adjust(average);
        const sum = (values: readonly bigint[]): bigint => values.reduce((a, b) => a + b, 0n);
        assert.equal(sum(nets) + outside, 0n);
        assert.equal(sum(contributions), allowance);
        assert.equal(outside, by === null ? -expenditure : 0n);
        for (const [at, { saved, sacrificed }] of stakes.entries()) {
          const off = contributions[at]! * contributory - allowance * (saved + sacrificed);
          assert.ok((off < 0n ? -off : off) < contributory, 'within a micro-USD of its share');
          if (saved + sacrificed === 0n) assert.equal(contributions[at], 0n);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('lets a party that sacrificed everything contribute too', () => {
    const { contributions, nets } = adjust({
      parties: [
        { saved: 800_000n, sacrificed: 0n },
        { saved: 0n, sacrificed: 100_000n },
        { saved: 100_000n, sacrificed: 0n },
      ],
      expenditure: 0n,
      expenditure_by: null,
    });
    assert.deepEqual(contributions, [80_000n, 10_000n, 10_000n]);
    assert.deepEqual(nets, [80_000n, -90_000n, 10_000n]);
  });
});
