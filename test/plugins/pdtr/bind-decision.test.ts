// The decision behind a payment: the bind links it if it is of the same tenant; the link to the surface is in one of
// the two. gateway/API.md §7.5.

import assert from 'node:assert/strict';
import { problem } from '../astl/surfaces.ts';
import { ACT, fresh, servePayments } from './payments.ts';
import type { Payments } from './payments.ts';

/** An act that no policy rule matches. */
const GATED = { action_type: 'payment.release', agent_id: 'agent:a' };

describe('bind-payment: the decision', () => {
  let served: Payments;
  before(async () => {
    served = await servePayments();
  });
  after(() => served.close());

  it('links the decision that the request names by id or hash, and no entry of another tenant', async () => {
    const json = await served.decided();
    for (const entry_id of [json.entry_id, json.entry_hash, `sha256:${String(json.entry_hash)}`]) {
      const linked = await served.bound({ payment_hash: fresh(), ...ACT, entry_id });
      assert.equal(linked['decision_linked'], true);
      assert.equal(linked['decision_entry_id'], json.entry_id);
      assert.deepEqual(
        [linked['decision_type'], linked['decision_outcome']],
        ['classify.result.v1', json.classification],
      );
    }
    const settled = await served.bind({ payment_hash: fresh(), ...ACT, entry_id: json.entry_id });
    const twin = await served.gateway.get(
      `/tcb/twin/${String(settled.json.receipt.entry_id)}?log=sandbox`,
    );
    const checks = twin.json.checks as { name: string; detail: string }[];
    const linkedBy = checks.find(({ name }) => name === 'decision_linked');
    assert.equal(linkedBy?.detail, 'the decision is in the log, and says SAFE');
    const foreign = await served.bound(
      { payment_hash: fresh(), ...ACT, entry_id: json.entry_id },
      served.other,
    );
    assert.deepEqual(
      [foreign['decision_linked'], foreign['decision_entry_id'], foreign['decision_outcome']],
      [false, json.entry_id, undefined],
    );
    const payment_hash = fresh();
    const words = await served.bind({ payment_hash, ...ACT, entry_id: 'zebra said yes' });
    assert.equal(words.json.settlement.decision_entry_id, 'zebra said yes');
    assert.equal(words.json.settlement.decision_linked, false);
    for (const entry_id of ['zebra said no', undefined]) {
      const again = await served.bound({ payment_hash, ...ACT, entry_id });
      assert.equal(
        again['decision_entry_id'],
        'zebra said yes',
        'the twin has the decision of its own bind',
      );
    }
    assert.doesNotMatch(served.log().entry(words.json.receipt.index) ?? '', /zebra/);
    const itself = await served.bound({
      payment_hash: fresh(),
      ...ACT,
      entry_id: words.json.receipt.entry_id,
    });
    assert.equal(itself['decision_linked'], false, 'a settlement is not a decision');
  });

  it('is the newest of the session: of the gate, the carrier gate or the classifier', async () => {
    const session_id = 'newest-decision';
    const { gateway } = served;
    const key = gateway.sandbox;
    const bind = () => served.bound({ payment_hash: fresh(), ...ACT, session_id });
    const linked = async () => {
      const { decision_source, decision_type, decision_outcome, decision_entry_id } = await bind();
      return [decision_source, decision_type, decision_outcome, decision_entry_id];
    };
    assert.equal((await bind())['decision_source'], 'not_supplied');
    const classified = await gateway.post(
      '/api/v1/classify',
      { message: 'Monday at ten', session_id },
      { key },
    );
    assert.deepEqual(await linked(), [
      ...['session', 'classify.result.v1', 'SAFE', classified.json.entry_id],
    ]);
    const gated = await gateway.post('/api/v1/execute-gate', { ...GATED, session_id }, { key });
    assert.deepEqual(await linked(), [
      ...['session', 'gate.decision.v3', 'SILENCE', gated.json.decision_entry_id],
    ]);
    const checked = await gateway.post(
      '/pas/v1/bind-check',
      { slug: 'nobody', policy_id: 'P-1', session_id },
      { key },
    );
    assert.deepEqual(await linked(), [
      ...['session', checked.json.receipt.type, 'BLOCK', checked.json.entry_id],
    ]);
  });

  it('has the surface if no decision has it', async () => {
    await served.publish({ entity: 'payer', surfaces: ['payment_authorize'] });
    const place = { entity: 'payer', surface: 'payment_authorize' };
    const alone = await served.bound({ payment_hash: fresh(), ...ACT, ...place });
    assert.deepEqual([alone['surface'], alone['surface_declared']], ['payment_authorize', true]);
    const json = await served.decided(place);
    const behind = await served.bound({
      payment_hash: fresh(),
      ...ACT,
      ...place,
      entry_id: json.entry_id,
    });
    assert.deepEqual([behind['entity'], behind['surface']], ['payer', undefined]);
    const other = await served.bound({
      payment_hash: fresh(),
      ...ACT,
      entity: 'payer',
      surface: 'other',
    });
    assert.equal(other['surface_declared'], false);
    const theirs = await served.bind({ payment_hash: fresh(), ...place }, { key: served.other });
    assert.deepEqual(problem(theirs), [403, 'tenant_forbidden', 'entity']);
  });
});
