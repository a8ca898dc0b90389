// Conditions and fees of obligations. gateway/API.md §10.6.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { evaluate, meets } from '../../../plugins/foundry/trigger/entries.ts';
import type { Condition } from '../../../plugins/foundry/trigger/entries.ts';
import { feeOf, settled } from '../../../plugins/foundry/trigger/fire.ts';
import type { Decision } from '../../../plugins/foundry/trigger/evaluation.ts';
import { clearRate } from '../../../plugins/foundry/trigger/routes.ts';

const condition = (more: Partial<Condition> = {}): Condition => ({
  ...{ metric: 'm', comparator: 'gte', threshold: '10', consecutive: 1 },
  ...more,
});

describe('a condition', () => {
  it('compares exactly, unlike floats', () => {
    const of = (comparator: Condition['comparator'], value: string, threshold: string) =>
      meets(condition({ comparator, threshold }), value);
    assert.equal(of('gt', '9007199254740993.000000000000000001', '9007199254740993'), true);
    assert.equal(of('eq', '0.30', '0.3'), true);
    assert.equal(of('lt', '-0.000000000000000001', '0'), true);
    assert.equal(of('gte', '1', '1'), true);
    assert.equal(of('lte', '1', '1'), true);
    assert.equal(of('gt', '1', '1'), false);
    assert.equal(of('lt', '1', '1'), false);
  });

  it('fires exactly if all of the last observations meet it', () => {
    const steps = fc.array(fc.boolean(), { maxLength: 30 });
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 5 }), (all, consecutive) => {
        let run: readonly number[] = [];
        for (const [i, high] of all.entries()) {
          const observed = { value: high ? '10' : '9', observed_at_ms: i };
          const { fires, run_ms } = evaluate(condition({ consecutive }), observed, run, i);
          const last = all.slice(0, i + 1).slice(-consecutive);
          assert.equal(fires, last.length === consecutive && last.every(Boolean));
          run = run_ms;
        }
      }),
    );
  });

  it('counts only observations within its window', () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 1, maxLength: 20 });
    const three = condition({ consecutive: 3, window_s: 2 });
    fc.assert(
      fc.property(gaps, (all) => {
        let run: readonly number[] = [];
        const times: number[] = [];
        for (const gap of all) {
          times.push((times.at(-1) ?? 0) + gap);
          const now = times.at(-1)!;
          const observed = { value: '10', observed_at_ms: now };
          const { fires, run_ms } = evaluate(three, observed, run, now);
          assert.equal(fires, times.length >= 3 && now - times.at(-3)! <= 2000);
          run = run_ms;
        }
      }),
    );
  });

  it('ignores an observation that is older than the window', () => {
    const old = { value: '10', observed_at_ms: 1000 };
    const { reason, run_ms } = evaluate(condition({ window_s: 1 }), old, [900], 2001);
    assert.deepEqual([reason, run_ms], ['outside_window', [900]]);
    assert.equal(evaluate(condition({ window_s: 1 }), old, [], 2000).fires, true);
  });

  it('ends a run if the sources do not agree', () => {
    const none = { value: null, observed_at_ms: 5 };
    const { fires, reason, run_ms } = evaluate(condition({ consecutive: 2 }), none, [4], 5);
    assert.deepEqual([fires, reason, run_ms], [false, 'no_consensus', []]);
  });
});

describe('the fee of a settlement', () => {
  it('is the exposure times the basis points over ten thousand, rounded down', () => {
    assert.equal(feeOf(5_000_000_000_000n, '25'), 12_500_000_000n, '12,500 of 5 million USD');
    assert.equal(feeOf(1n, '50'), 0n);
    assert.equal(feeOf(399n, '25'), 0n);
    assert.equal(feeOf(400n, '25'), 1n);
    assert.equal(feeOf(10_000_000n, '0.5'), 500n);
  });

  it('is at most the rate, and less by less than a micro-USD', () => {
    const exposure = fc.bigInt({ min: 0n, max: 25_000_000_000_000n });
    fc.assert(
      fc.property(exposure, fc.integer({ min: 0, max: 10_000 }), (micro, bps) => {
        const fee = feeOf(micro, String(bps));
        const exact = micro * BigInt(bps);
        assert.ok(fee * 10_000n <= exact && (fee + 1n) * 10_000n > exact);
      }),
    );
  });

  it('is at the rate of the clear tier if the obligation names none', () => {
    const nothing = { get: () => undefined };
    const million = 1_000_000_000_000n;
    const rate = (exposure: bigint) => clearRate(nothing, 'tenant', 0, exposure);
    assert.deepEqual([rate(10n * million), rate(10n * million + 1n)], ['2', '1']);
    assert.deepEqual([rate(100n * million), rate(100n * million + 1n)], ['1', '0.5']);
    const trigger = { template_id: 't', fee_bps: null };
    const decision = {
      ...{ trigger, members: {}, action: 'a', enabled_exposure_micro_usd: 5n * million },
    } as unknown as Decision;
    const { fee_bps, fee_source, fee_micro_usd } = settled(decision, rate);
    assert.deepEqual([fee_bps, fee_source, fee_micro_usd], ['2', 'clear_tier', 1_000_000_000]);
  });
});
