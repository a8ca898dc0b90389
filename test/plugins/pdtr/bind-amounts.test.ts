// Amounts of payments beyond 2^53 - 1, as for tokens of 18 decimals. gateway/API.md §1.3, §7.2, §10.2.

import assert from 'node:assert/strict';
import type { JsonObject } from '../../../log/index.ts';
import { ACT, fresh, servePayments } from './payments.ts';
import type { Payments } from './payments.ts';

/** A million tokens of 18 decimals and one unit, which is not exact as a double. */
const MILLION = '1000000000000000000000001';

describe('bind-payment: amounts', () => {
  let served: Payments;
  before(async () => {
    served = await servePayments();
  });
  after(() => served.close());

  const entryOf = async (more: object): Promise<JsonObject> => {
    const { status, text, json } = await served.bind({ payment_hash: fresh(), ...ACT, ...more });
    assert.equal(status, 200, text);
    const entry = JSON.parse(served.log().entry(json.receipt.index) ?? '{}') as JsonObject;
    assert.equal(json.settlement.amount_atomic, entry['amount_atomic']);
    return entry;
  };

  it('are strings of digits in the entry above 2^53 - 1, and integers up to that', async () => {
    const largest = Number.MAX_SAFE_INTEGER;
    const cases: readonly (readonly [number | string, number | string])[] = [
      [0, 0],
      ['0', 0],
      ['42', 42],
      [largest, largest],
      [String(largest), largest],
      [String(2n ** 53n), String(2n ** 53n)],
      [MILLION, MILLION],
      ['9'.repeat(78), '9'.repeat(78)],
    ];
    for (const [amount_atomic, stated] of cases) {
      const entry = await entryOf({ amount_atomic, currency: 'zebra token' });
      assert.equal(entry['type'], 'pdtr.twin.v2');
      assert.equal(entry['amount_atomic'], stated);
    }
  });

  it('count as cleared to the micro-USD, with their fee', async () => {
    const { gateway } = served;
    const usage = async (): Promise<{ cleared: bigint; fees: bigint }> => {
      const { json } = await gateway.get('/api/v1/clear/usage', { key: gateway.sandbox });
      return { cleared: BigInt(json.cleared_micro_usd), fees: BigInt(json.fees_micro_usd) };
    };
    const before = await usage();
    const entry = await entryOf({ amount_atomic: MILLION, currency: 'USDC' });
    assert.equal(entry['cleared_micro_usd'], undefined);
    assert.equal(entry['large_cleared_micro_usd'], MILLION);
    const after = await usage();
    assert.equal(after.cleared - before.cleared, BigInt(MILLION));
    assert.equal(after.fees - before.fees, BigInt(MILLION) / 20_000n, 'at half a basis point');
    const small = await entryOf({ amount_atomic: '42000000', currency: 'USDC' });
    assert.equal(small['cleared_micro_usd'], 42_000_000);
    assert.equal(small['large_cleared_micro_usd'], undefined);
  });
});
