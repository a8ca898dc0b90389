// The action_ref that a bind claims is verified, refused, or recorded as claimed. gateway/API.md §7.1.

import assert from 'node:assert/strict';
import { actionRef, defaultActionRef } from '../../../plugins/pdtr/index.ts';
import { problem } from '../astl/surfaces.ts';
import { ACT, fresh, servePayments, TUPLE } from './payments.ts';
import type { Payments } from './payments.ts';

describe('bind-payment: the action_ref', () => {
  let served: Payments;
  before(async () => {
    served = await servePayments();
  });
  after(() => served.close());

  it('accepts an action_ref of any profile, and uses the default profile for the chain', async () => {
    for (const [profile, ref] of Object.entries({
      'action-ref-v1-ms': actionRef('action-ref-v1-ms', TUPLE),
      'action-ref-v1': actionRef('action-ref-v1', TUPLE),
      'action-ref-v2': actionRef('action-ref-v2', TUPLE),
      'x402-settlement-binding-v0': actionRef('x402-settlement-binding-v0', TUPLE),
    })) {
      const body = { payment_hash: fresh(), ...ACT, action_ref: ref };
      const settlement = await served.bound(body);
      assert.equal(settlement['action_ref_profile'], profile);
      assert.equal(settlement['action_ref_verified'], true);
      assert.equal(settlement['action_ref_claimed'], ref);
      assert.equal(settlement['action_ref'], defaultActionRef(TUPLE));
    }
  });

  it('refuses an action_ref that does not match the act, and returns the recomputed ones', async () => {
    const answer = await served.bind({
      payment_hash: fresh(),
      ...ACT,
      action_ref: 'ab'.repeat(32),
    });
    assert.deepEqual(problem(answer), [400, 'action_ref_mismatch', 'action_ref']);
    assert.match(answer.json.error.message, new RegExp(defaultActionRef(TUPLE)));
    assert.equal(answer.json.computed['action-ref-v1-ms'], defaultActionRef(TUPLE));
  });

  it('records an action_ref as claimed if the request does not have the whole act', async () => {
    const payment_hash = fresh();
    const action_ref = 'ab'.repeat(32);
    const settlement = await served.bound({ payment_hash, action_ref });
    assert.equal(settlement['action_ref'], action_ref);
    assert.equal(settlement['action_ref_verified'], false);
    assert.equal(settlement['preimage'], null);
    assert.equal(
      (await served.bound({ payment_hash, action_ref }))['entry_id'],
      settlement['entry_id'],
    );
    const other = await served.bind({ payment_hash, action_ref: 'cd'.repeat(32) });
    assert.deepEqual(problem(other), [409, 'payment_already_bound', 'payment_hash']);
    const prefixed = await served.bound({ payment_hash: fresh(), action_ref: `v2:${action_ref}` });
    assert.equal(prefixed['action_ref_claimed'], `v2:${action_ref}`);
    assert.notEqual(prefixed['action_ref'], action_ref);
    const free = await served.bind({ payment_hash: fresh(), action_ref: 'my own words' });
    assert.deepEqual(problem(free), [400, 'parameter_invalid', 'action_ref']);
  });
});
