// The arithmetic of usage: exact sums, tiers at their bounds, months.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  add,
  feeLines,
  feeOf,
  MONTH,
  monthOf,
  monthsBack,
  nextMonthMs,
  NO_USAGE,
  plus,
  shareOf,
  tierOf,
  TIERS,
  withAct,
} from '../../../plugins/clear/usage.ts';
import type { Act, Usage } from '../../../plugins/clear/usage.ts';
import { usd } from '../../../plugins/clear/entries.ts';

const MILLION = 1_000_000n;

function metered(acts: readonly Act[]): Usage {
  return acts.reduce(
    (sum, act) =>
      withAct(
        sum,
        act,
        act.cleared_micro_usd === 0 ? null : shareOf(sum.cleared_micro_usd, act.cleared_micro_usd),
      ),
    NO_USAGE,
  );
}

const actArbitrary = fc.record({
  toll: fc.constantFrom('classify', 'hold', 'pdtr_bind', 'matter_spoliation'),
  toll_micro_usd: fc.integer({ min: 0, max: 500_000_000 }),
  cleared_micro_usd: fc.oneof(
    fc.constant(0),
    fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    fc.integer({ min: 1, max: 5_000_000_000_000 }),
  ),
  owed_fee_micro_usd: fc.oneof(
    fc.constant(0),
    fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  ),
});

describe('the tiers of cleared exposure', () => {
  it('are those of the interface, in integers', () => {
    assert.deepEqual(TIERS, [
      { id: 'starter', milli_bps: 2000, upper_micro_usd: 10_000_000n * MILLION },
      { id: 'growth', milli_bps: 1000, upper_micro_usd: 100_000_000n * MILLION },
      { id: 'network', milli_bps: 500, upper_micro_usd: null },
    ]);
  });

  it('apply up to their bound, which is included', () => {
    for (const { id, upper_micro_usd: upper } of TIERS) {
      if (upper === null) continue;
      assert.equal(tierOf(upper).id, id);
      assert.notEqual(tierOf(upper + 1n).id, id);
    }
    assert.equal(tierOf(0n).id, 'starter');
    assert.equal(tierOf(10n ** 30n).id, 'network');
  });

  it('charge the whole act that crosses a bound at its tier', () => {
    const before = String(10_000_000n * MILLION - 1n);
    assert.deepEqual(shareOf(before, 1), { tier: 'starter', fee_micro_usd: 0n });
    // 5,000 USD at 1 basis point instead of 2, though nearly all of the month was below the bound.
    assert.deepEqual(shareOf(before, 5_000_000_000), { tier: 'growth', fee_micro_usd: 500_000n });
  });

  it('round down to a micro-USD', () => {
    const [starter, , network] = TIERS;
    assert.ok(starter !== undefined && network !== undefined);
    assert.equal(feeOf(4_999n, starter), 0n);
    assert.equal(feeOf(5_000n, starter), 1n);
    assert.equal(feeOf(20_000n, network), 1n);
    assert.equal(feeOf(19_999n, network), 0n);
  });
});

describe('usage', () => {
  it('is the exact sum of its acts, whatever their size', () => {
    fc.assert(
      fc.property(fc.array(actArbitrary, { maxLength: 60 }), (acts) => {
        const usage = metered(acts);
        const sum = (of: (act: Act) => number | bigint): string =>
          String(acts.reduce((total, act) => total + BigInt(of(act)), 0n));
        assert.equal(usage.acts, acts.length);
        assert.equal(
          usage.tolls_micro_usd,
          sum(({ toll_micro_usd }) => toll_micro_usd),
        );
        assert.equal(
          usage.cleared_micro_usd,
          sum(({ cleared_micro_usd }) => cleared_micro_usd),
        );
        let cumulative = 0n;
        let fees = 0n;
        for (const { cleared_micro_usd } of acts) {
          const exposure = BigInt(cleared_micro_usd);
          cumulative += exposure;
          const rate = cumulative <= 10n ** 13n ? 4n : cumulative <= 10n ** 14n ? 2n : 1n;
          fees += (exposure * rate) / 20_000n;
        }
        const owed = acts.reduce((total, act) => total + BigInt(act.owed_fee_micro_usd), 0n);
        assert.deepEqual(
          feeLines(usage).map(({ micro_usd }) => micro_usd),
          [String(fees), String(owed)],
        );
        fees += owed;
        assert.equal(usage.fees_micro_usd, String(fees));
        const parts = usage.tolls.map(([, , micro]) => micro);
        assert.equal(
          parts.reduce((total, micro) => add(total, micro), '0'),
          usage.tolls_micro_usd,
        );
        const tiers = Object.values(usage.tiers);
        assert.equal(
          tiers.reduce((total, [, , fee]) => add(total, fee), '0'),
          usage.fees_micro_usd,
        );
      }),
    );
  });

  it('of two logs adds up in either order', () => {
    const list = fc.array(actArbitrary, { maxLength: 20 });
    fc.assert(
      fc.property(list, list, (left, right) => {
        const [a, b] = [metered(left), metered(right)];
        const sorted = (sum: Usage) => ({ ...sum, tolls: sum.tolls.toSorted() });
        assert.deepEqual(sorted(plus(a, b)), sorted(plus(b, a)));
        assert.equal(plus(a, b).acts, left.length + right.length);
        assert.equal(plus(a, b).tolls_micro_usd, metered([...left, ...right]).tolls_micro_usd);
      }),
    );
  });

  it('does not change its input', () => {
    const first = metered([
      { toll: 'hold', toll_micro_usd: 1, cleared_micro_usd: 5, owed_fee_micro_usd: 7 },
    ]);
    const text = JSON.stringify(first);
    withAct(
      first,
      { toll: 'hold', toll_micro_usd: 1, cleared_micro_usd: 0, owed_fee_micro_usd: 1 },
      null,
    );
    assert.equal(JSON.stringify(first), text);
  });

  it('shows USD without a float', () => {
    assert.equal(usd(50_000), '0.050000');
    assert.equal(usd('9007199254740993000001'), '9007199254740993.000001');
    assert.equal(usd(-1), '-0.000001');
  });
});

describe('months', () => {
  it('begin and end in UTC', () => {
    const end = Date.UTC(2026, 11, 31, 23, 59, 59, 999);
    assert.equal(monthOf(end), '2026-12');
    assert.equal(monthOf(end + 1), '2027-01');
    assert.equal(nextMonthMs(end), end + 1);
  });

  it('go back over years', () => {
    assert.deepEqual(monthsBack('2026-02', 4), ['2026-02', '2026-01', '2025-12', '2025-11']);
    const pattern = new RegExp(MONTH);
    for (const month of monthsBack('2026-12', 60)) assert.match(month, pattern);
  });
});
