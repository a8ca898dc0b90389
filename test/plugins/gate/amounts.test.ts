// Amounts beyond 2^53 - 1 at the gate: in requests, in the limits of a policy, in decisions and their replay.
// gateway/API.md §1.3, §8.1.

import assert from 'node:assert/strict';
import type { JsonObject } from '../../../log/index.ts';
import { problem } from '../astl/surfaces.ts';
import { GATE, PAY, serveGate } from './asking.ts';
import type { Asking } from './asking.ts';

/** A hundred tokens of 18 decimals. */
const HUNDRED = 100n * 10n ** 18n;

const policy = (at_most: number | string, over: number | string = at_most) => ({
  rules: [
    { id: 'small', effect: 'allow', amount: { currency: 'USDC', at_most } },
    { id: 'large', effect: 'hold', amount: { currency: 'USDC', over } },
  ],
});

describe('amounts at the gate', () => {
  let served: Asking;
  before(async () => {
    served = await serveGate();
  });
  after(() => served.close());

  const ask = async (amount_atomic: number | string) => {
    const { status, text, json } = await served.ask({ ...PAY, amount_atomic });
    assert.equal(status, 200, text);
    return json;
  };

  it('are compared with limits exactly, and are decimal strings in the decision', async () => {
    const { json: put } = await served.post(`${GATE}/policy`, policy(String(HUNDRED)));
    assert.equal(put.receipt.type, 'gate.policy.v3');
    assert.equal(put.policy.rules[0].amount.at_most, String(HUNDRED));
    const cases: readonly (readonly [number | string, string])[] = [
      [50, 'PERMIT'],
      [Number.MAX_SAFE_INTEGER, 'PERMIT'],
      [String(HUNDRED), 'PERMIT'],
      [String(HUNDRED + 1n), 'HOLD'],
      ['9'.repeat(78), 'HOLD'],
    ];
    for (const [amount, outcome] of cases) {
      const { outcome: found, receipt } = await ask(amount);
      assert.equal(found, outcome, String(amount));
      assert.deepEqual([receipt.type, receipt.amount_atomic], ['gate.decision.v3', amount]);
    }
    const { receipt } = await ask('50');
    assert.equal(receipt.amount_atomic, 50, 'equal amounts have one normal form');
  });

  it('of a policy have one form, so that the same policy is the same entry', async () => {
    const put = async (body: object): Promise<JsonObject> =>
      (await served.post(`${GATE}/policy`, body)).json;
    const first = await put(policy(100));
    const again = await put(policy('100'));
    assert.deepEqual(again['policy'], policy(100));
    assert.equal(again['policy_version'], first['policy_version']);
    for (const at_most of [2 ** 53, '0100', '-1', '9'.repeat(79)]) {
      const refused = await served.post(`${GATE}/policy`, policy(at_most));
      const { status, json } = refused;
      assert.deepEqual([status, json.error.code], [400, 'parameter_invalid'], String(at_most));
    }
    const empty = {
      rules: [
        {
          ...{ id: 'none', effect: 'allow' },
          amount: { currency: 'USDC', over: String(HUNDRED), at_most: String(HUNDRED) },
        },
      ],
    };
    const nothing = await served.post(`${GATE}/policy`, empty);
    assert.deepEqual(problem(nothing), [400, 'parameter_invalid', 'rules.0.amount']);
  });

  it('are the same in a hold and in the permit that a human gives', async () => {
    await served.post(`${GATE}/policy`, policy(100));
    const amount_atomic = String(HUNDRED);
    const held = await ask(amount_atomic);
    assert.equal(held.outcome, 'HOLD');
    const human = { action: 'release', reason: 'checked' };
    const { json } = await served.post(`${GATE}/holds/${String(held.hold_id)}`, human);
    assert.equal(json.receipt.amount_atomic, amount_atomic);
    const same = { ...PAY, amount_atomic, timestamp_ms: held.preimage.timestamp_ms };
    const asked = await served.ask(same);
    assert.equal(asked.json.decision_entry_id, json.decision_entry_id);
    const other = await served.ask({ ...same, amount_atomic: String(HUNDRED + 1n) });
    assert.equal(other.json.outcome, 'HOLD', 'one unit more is a different question');
  });
});
