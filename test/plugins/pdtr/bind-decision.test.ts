// The decision behind a payment: linked when it is the tenant's own, and which of the two has the surface.
// gateway/API.md §7.5.

import assert from 'node:assert/strict';
import { problem } from '../astl/surfaces.ts';
import { ACT, fresh, servePayments } from './payments.ts';
import type { Payments } from './payments.ts';

describe('bind-payment: the decision', () => {
  let served: Payments;
  before(async () => {
    served = await servePayments();
  });
  after(() => served.close());

  it('links the decision that is named, by id or by hash, and never one that is not', async () => {
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
      assert.equal(again['decision_entry_id'], 'zebra said yes', 'the twin has its own bind’s');
    }
    assert.doesNotMatch(served.log().entry(words.json.receipt.index) ?? '', /zebra/);
    const itself = await served.bound({
      payment_hash: fresh(),
      ...ACT,
      entry_id: words.json.receipt.entry_id,
    });
    assert.equal(itself['decision_linked'], false, 'a settlement decides nothing');
  });

  it('has the surface where no decision has it', async () => {
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
