// The twin receipt of a payment: the answer of a bind, the document at its twin_verify_url, and what counts as
// cleared. gateway/API.md §7.2, §7.3.

import assert from 'node:assert/strict';
import { actionRef, defaultActionRef } from '../../../plugins/pdtr/index.ts';
import { ACT, fresh, servePayments, TUPLE } from './payments.ts';
import type { Payments } from './payments.ts';

const HEADER =
  'eyJzdWNjZXNzIjp0cnVlLCJ0cmFuc2FjdGlvbiI6IjB4MTIzNDU2Nzg5MGFiY2RlZjEyMzQ1Njc4OTBhYmNkZWYxMjM0NTY3' +
  'ODkwYWJjZGVmMTIzNDU2Nzg5MGFiY2RlZiIsIm5ldHdvcmsiOiJlaXAxNTU6ODQ1MzIiLCJwYXllciI6IjB4ODU3YjA2NTE5' +
  'RTkxZTNBNTQ1Mzg3OTFiRGJiMEUyMjM3M2UzNmI2NiJ9';

describe('bind-payment: the twin', () => {
  let served: Payments;
  before(async () => {
    served = await servePayments();
  });
  after(() => served.close());

  it('accepts a payment_hash alone, and returns it in its normal form', async () => {
    const payment_hash = `0x${fresh()}`;
    const answer = await served.bind({ payment_hash });
    assert.equal(answer.status, 200, answer.text);
    const { ok, settlement, receipt, decision_receipt } = answer.json;
    assert.equal(ok, true);
    assert.equal(settlement.payment_hash, payment_hash);
    assert.equal(settlement.payment_hash_normalized, payment_hash.slice(2));
    assert.deepEqual(settlement.preimage_defaulted, [
      ...['agent_id', 'action_type', 'scope', 'timestamp_ms'],
    ]);
    assert.equal(settlement.preimage.action_type, 'payment.settle');
    assert.equal(settlement.preimage.scope, 'x402');
    assert.equal(settlement.profile, 'action-ref-v1-ms');
    assert.equal(
      settlement.action_ref,
      defaultActionRef({ ...settlement.preimage, seq: 0, terminal: true }),
    );
    assert.equal(settlement.settlement_status, 'claimed');
    assert.equal(settlement.contested, false);
    assert.equal(settlement.verify_url, receipt.verify_url);
    assert.deepEqual([receipt.toll, receipt.toll_micro_usd], ['pdtr_bind', 150_000]);
    assert.deepEqual(
      receipt.links.map(({ key }: { key: readonly string[] }) => key[0]),
      ['payment', 'action'],
    );
    assert.equal(decision_receipt.type, 'pdtr.decision_not_supplied.v1');
    assert.equal(decision_receipt.outcome, 'NOT_SUPPLIED');
    assert.equal(settlement.decision_entry_id, decision_receipt.entry_id);
    assert.equal(settlement.decision_linked, false);
    assert.equal(decision_receipt.index, receipt.index - 1);
  });

  it('returns the twin receipt of the interface on its own path', async () => {
    const payment_hash = fresh();
    const { status, json } = await served.bind(
      { payment_hash, ...ACT },
      { path: '/tcb/bind-payment' },
    );
    assert.equal(status, 200);
    assert.equal(json.twin_receipt, true);
    assert.equal(json.ok, true);
    for (const name of ['action_ref', 'decision_entry_id', 'entry_id', 'payment_hash']) {
      assert.equal(typeof json[name], 'string', name);
    }
    assert.equal(json.action_ref, defaultActionRef(TUPLE));
    assert.equal(json.settlement_action_ref, actionRef('x402-settlement-binding-v0', TUPLE));
    const again = await served.bound({ payment_hash, ...ACT });
    assert.equal(again['entry_id'], json.entry_id, 'both paths bind the same payment');
  });

  it('verifies at twin_verify_url without a key', async () => {
    const { twin_verify_url } = await served.bound({ payment_hash: fresh(), ...ACT });
    const url = new URL(twin_verify_url as string);
    const { status, json } = await served.gateway.get(url.pathname + url.search);
    assert.equal(status, 200);
    assert.equal(json.valid, false, 'there was no decision');
    const outcomes = Object.fromEntries(
      json.checks.map(({ name, ok }: { name: string; ok: boolean }) => [name, ok]),
    );
    assert.deepEqual(outcomes, {
      ...{ settlement_receipt: true, decision_receipt: true },
      ...{ decision_linked: false, decision_first: true, same_tenant: true },
    });
    const decided = await served.decided();
    const linked = await served.bound({
      payment_hash: fresh(),
      ...ACT,
      entry_id: decided.entry_id,
    });
    const second = new URL(linked['twin_verify_url'] as string);
    const verified = await served.gateway.get(second.pathname + second.search);
    assert.equal(verified.json.valid, true, verified.text);
    assert.equal(verified.json.decision.entry_id, decided.entry_id);
    const proof = new URL(verified.json.payment_proof_url);
    const document = await served.gateway.get(proof.pathname + proof.search);
    assert.equal(document.json.verdict, 'PRESENT');
    const live = await served.gateway.get(`${second.pathname}?log=live`);
    assert.equal(live.status, 404, 'not in the live log');
    assert.equal((await served.gateway.get(second.pathname)).status, 200, 'of either log');
    assert.equal((await served.gateway.get('/tcb/twin/x?log=sandbox')).status, 404);
  });

  it('accepts the PAYMENT-RESPONSE header itself, and keeps its content out of the log', async () => {
    const answer = await served.bind({ payment_response: HEADER });
    assert.equal(answer.status, 200, answer.text);
    const { settlement, receipt } = answer.json;
    assert.equal(
      settlement.payment_hash,
      'd7596affa86b71264321b6de3a497c7cc170a9001a4d6ce9ffd9d034bdcdc808',
    );
    assert.equal(settlement.payment_hash_source, 'payment_response');
    assert.equal(receipt.disclosures.settled.value.network, 'eip155:84532');
    assert.doesNotMatch(served.log().entry(receipt.index) ?? '', /0x857b|eip155/);
  });

  it('counts USD and USDC as cleared with the terminal bind of a payment only', async () => {
    const cleared = async (more: object): Promise<unknown> =>
      (await served.bind({ payment_hash: fresh(), ...ACT, amount_atomic: 42_000_000, ...more }))
        .json.receipt.cleared_micro_usd;
    assert.equal(await cleared({ currency: 'USDC' }), 42_000_000);
    assert.equal(await cleared({ currency: ' usdc' }), 42_000_000, 'in any spelling');
    assert.equal(await cleared({ currency: 'EURC' }), undefined);
    assert.equal(await cleared({ currency: 'USDC', terminal: false }), undefined);
    assert.equal(await cleared({ currency: 'zebra coin' }), undefined);
  });
});
