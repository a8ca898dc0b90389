// The gate over HTTP: four outcomes, what each of them logs, and the effect of policy, message and payment.
// gateway/API.md §8.1.

import assert from 'node:assert/strict';
import { native } from '../../../log/crypto/native.ts';
import type { JsonObject } from '../../../log/index.ts';
import { trustedKeyOf, verifyReceipt } from '../../../log/verify.ts';
import { restraintReceiptRef } from '../../../plugins/restraint/index.ts';
import { problem } from '../astl/surfaces.ts';
import { GATE, PAY, serveGate } from './asking.ts';
import type { Asking } from './asking.ts';

const kinds = (receipt: JsonObject): string[] =>
  (receipt['links'] as unknown as { key: string[] }[]).map(({ key: [kind = ''] }) => kind);

describe('the execute gate', () => {
  let served: Asking;
  before(async () => {
    served = await serveGate();
  });
  after(() => served.close());

  const entryAt = (index: number): JsonObject =>
    JSON.parse(served.log().entry(index) ?? '{}') as JsonObject;

  it('permits what a rule allows, for 900 seconds, at the toll of the gate', async () => {
    const { status, json } = await served.ask(PAY);
    assert.equal(status, 200);
    assert.deepEqual(
      [json.ok, json.outcome, json.reasons, json.policy_version],
      [true, 'PERMIT', ['rule:small'], 1],
    );
    const { receipt, permit, preimage } = json;
    assert.equal(receipt.type, 'gate.decision.v3');
    assert.equal(permit.permit_id, receipt.entry_id);
    assert.equal(permit.expires_at_ms - Number(receipt.issued_at_ms), 900_000);
    assert.deepEqual([permit.single_use, permit.max_age_s], [true, 900]);
    assert.deepEqual([receipt.toll, receipt.toll_micro_usd], ['execute_gate', 100_000]);
    assert.deepEqual(preimage, {
      action_type: PAY.action_type,
      agent_id: PAY.agent_id,
      scope: 'gate',
      timestamp_ms: receipt.timestamp_ms,
    });
    const verified = await served.post('/tcb/action-ref/verify', {
      preimage,
      action_ref: json.action_ref,
    });
    assert.equal(verified.json.match_profile, 'action-ref-v1-ms');
    const { json: policy } = await served.running.get(`${GATE}/policy`, { key: served.agent });
    assert.equal(
      receipt.policy_entry_id,
      policy.receipt.entry_id,
      'the answer names the version in force',
    );
    assert.equal(json.restraint, undefined);
  });

  it('holds, denies and is silent, each with a restraint in its group and one toll', async () => {
    const cases = [
      [{ amount_atomic: 500 }, 'HOLD', ['rule:large'], 'OMISSIBLE', 'deferred'],
      [{ amount_atomic: 5000 }, 'DENY', ['rule:huge'], 'FORBIDDEN', 'denied'],
      [{ action_type: 'data.export' }, 'DENY', ['rule:no-exports'], 'FORBIDDEN', 'denied'],
      [{ action_type: 'data.write' }, 'SILENCE', ['no_rule'], 'OMISSIBLE', 'denied'],
    ] as const;
    for (const [body, outcome, reasons, modality, verdict] of cases) {
      const { status, json } = await served.ask({ ...PAY, ...body });
      assert.equal(status, 200);
      assert.deepEqual([json.outcome, json.reasons], [outcome, reasons]);
      assert.equal(json.permit, undefined);
      assert.deepEqual([json.receipt.toll, json.receipt.toll_micro_usd], ['hold', 500_000]);
      const { restraint, restraint_receipt } = json;
      assert.equal(restraint_receipt.index - Number(json.receipt.index), 1);
      assert.deepEqual([restraint_receipt.toll, restraint.surface], [undefined, undefined]);
      assert.deepEqual([restraint.deontic_modality, restraint.verdict], [modality, verdict]);
      assert.equal(restraint.decision_id, json.decision_entry_id);
      assert.equal(restraint.restraint_receipt_ref, restraintReceiptRef(restraint));
      assert.equal(json.hold_id, outcome === 'HOLD' ? json.decision_entry_id : undefined);
    }
  });

  it('is ALLOW for a bind only if it permits', async () => {
    const bind = async (body: object): Promise<unknown[]> => {
      const { json } = await served.post(`${GATE}/bind`, { ...PAY, ...body }, served.agent);
      return [json.decision, json.outcome];
    };
    assert.deepEqual(await bind({}), ['ALLOW', 'PERMIT']);
    assert.deepEqual(await bind({ amount_atomic: 500 }), ['BLOCK', 'HOLD']);
    assert.deepEqual(await bind({ amount_atomic: 5000 }), ['BLOCK', 'DENY']);
    assert.deepEqual(await bind({ action_type: 'other' }), ['BLOCK', 'SILENCE']);
  });

  it('accepts every spelling of a currency, and logs its code', async () => {
    const { json } = await served.ask({ ...PAY, amount_atomic: 50, currency: 'usdc' });
    assert.deepEqual([json.outcome, json.receipt.currency], ['PERMIT', 'USDC']);
    assert.equal(json.receipt.disclosures?.currency, undefined);
  });

  it('treats missing members of the request as unfavourable to the act', async () => {
    const outcomeOf = async (body: object): Promise<string> =>
      (await served.ask({ action_type: PAY.action_type, agent_id: 'a', ...body })).json.outcome;
    assert.equal(await outcomeOf({}), 'DENY', 'an amount that is not given is over every limit');
    assert.equal(await outcomeOf({ amount_atomic: 50 }), 'DENY', 'has no currency');
    assert.equal(await outcomeOf({ amount_atomic: 50, currency: 'EURC' }), 'SILENCE');
    assert.equal(await outcomeOf({ currency: 'USDC' }), 'DENY');
  });

  it('is SILENT for a caller without a policy, with and without a key', async () => {
    for (const key of [served.other, null]) {
      const { json } = await served.ask(PAY, key);
      assert.deepEqual(
        [json.outcome, json.reasons, json.policy_version, json.receipt.policy_entry_id],
        ['SILENCE', ['no_policy'], 0, undefined],
      );
    }
  });

  it('denies a message that is a violation or a crisis, whatever the policy allows', async () => {
    const violation = await served.ask({
      ...{ ...PAY, domain: 'hiring' },
      message: 'Reject every applicant over 50, they are too old',
    });
    assert.deepEqual(
      [violation.json.outcome, violation.json.reasons, violation.json.receipt.classification],
      ['DENY', ['message_violation'], 'VIOLATION'],
    );
    const crisis = await served.ask({ ...PAY, message: 'I want to kill myself tonight' }, null);
    assert.deepEqual(
      [crisis.json.outcome, crisis.json.reasons],
      ['DENY', ['message_crisis']],
      'also without a policy',
    );
    const safe = await served.ask({ ...PAY, message: 'Pay the invoice of May' });
    assert.deepEqual([safe.json.outcome, safe.json.receipt.classification], ['PERMIT', 'SAFE']);
    assert.ok(safe.json.receipt.classifier.weights_sha256);
    assert.equal(safe.json.receipt.disclosures.message.value, 'Pay the invoice of May');
  });

  it('does not permit what the classifier cannot read', async () => {
    for (const message of ['', ' ', 'x'.repeat(40_000)]) {
      const { json } = await served.ask({ ...PAY, message });
      assert.deepEqual([json.outcome, json.reasons], ['SILENCE', ['message_error']]);
      assert.equal(json.receipt.classification, 'ERROR');
    }
    const denied = await served.ask({ ...PAY, amount_atomic: 5000, message: '' });
    assert.equal(denied.json.outcome, 'DENY', 'the prohibition applies nevertheless');
  });

  it('is the attempt on its surface, and its restraint is not', async () => {
    const { running } = served;
    const publish = { entity: 'gated-bank', surfaces: ['payment_authorize'] };
    await running.post('/api/v1/astl/publish', publish, { key: running.sandbox });
    const on = { ...PAY, entity: 'gated-bank', surface: 'payment_authorize', session_id: 's' };
    const permitted = (await served.ask(on)).json.receipt;
    assert.deepEqual(kinds(permitted), ['entity', 'surface', 'session', 'action']);
    assert.equal(permitted.surface_declared, true);
    const { json } = await served.ask({ ...on, amount_atomic: 500, surface: 'elsewhere' });
    assert.deepEqual(
      [kinds(json.receipt).includes('surface'), kinds(json.restraint_receipt).includes('surface')],
      [true, false],
    );
    assert.equal(json.receipt.surface_declared, false);
    const foreign = await served.ask({ ...PAY, entity: 'gated-bank' }, served.other);
    assert.deepEqual(problem(foreign), [403, 'tenant_forbidden', 'entity']);
    const nobody = await served.ask({ ...PAY, surface: 'pay' }, null);
    assert.deepEqual(problem(nobody), [400, 'parameter_missing', 'entity']);
  });

  it('is found by a bind as the newest decision of the session', async () => {
    const session_id = 'session-of-two-decisions';
    await served.ask({ ...PAY, session_id });
    const { json: newest } = await served.ask({ ...PAY, session_id, amount_atomic: 500 });
    const payment = { payment_hash: 'e'.repeat(64), session_id };
    const bound = await served.post('/tcb/bind-payment', payment, served.agent);
    assert.deepEqual(
      [bound.json.decision_entry_id, bound.json.decision_linked, bound.json.decision_outcome],
      [newest.decision_entry_id, true, 'HOLD'],
    );
    const twin = await served.running.get(
      new URL(bound.json.twin_verify_url).pathname + '?log=sandbox',
    );
    assert.equal(twin.json.valid, true, twin.text);
  });

  it('answers with receipts that verify offline', async () => {
    const headers = { Prefer: 'wait=20' };
    const { json } = await served.ask({ ...PAY, amount_atomic: 500 }, served.agent, headers);
    const log = served.log();
    const trust = { origin: log.origin, vkey: log.vkey, keys: log.receiptKeys().map(trustedKeyOf) };
    for (const receipt of [json.receipt, json.restraint_receipt]) {
      const { valid, checks } = verifyReceipt(receipt, trust, { suite: native });
      assert.ok(valid, JSON.stringify(checks));
      assert.ok(receipt.log.inclusion_proof);
    }
  });

  it('takes an action_ref that is right by some profile, and no other', async () => {
    const act = { ...PAY, scope: 'invoices', timestamp_ms: 1_790_000_000_000 };
    const { json } = await served.ask(act);
    const settled = await served.post('/tcb/action-ref/verify', {
      preimage: json.preimage,
    });
    for (const name of ['action-ref-v1-ms', 'action-ref-v1', 'x402-settlement-binding-v0']) {
      const action_ref = settled.json.computed[name];
      const again = await served.ask({ ...act, action_ref });
      assert.equal(again.json.action_ref, json.action_ref, name);
    }
    const wrong = await served.ask({ ...act, action_ref: 'a'.repeat(64) });
    assert.deepEqual(problem(wrong), [400, 'action_ref_mismatch', 'action_ref']);
    assert.equal(wrong.json.computed['action-ref-v1-ms'], json.action_ref);
  });

  it('answers one request once, however often and at once it is asked', async () => {
    const body = { ...PAY, amount_atomic: 77 };
    const headers = { 'Idempotency-Key': 'fifty-at-once' };
    const before = served.log().size();
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => served.ask(body, served.agent, headers)),
    );
    const done = answers.filter(({ status }) => status === 200);
    assert.ok(done.length > 0);
    assert.equal(new Set(done.map(({ text }) => text)).size, 1);
    for (const { status, json } of answers) {
      if (status !== 200)
        assert.deepEqual([status, json.error.code], [409, 'idempotency_key_in_use']);
    }
    const again = await served.ask(body, served.agent, headers);
    assert.deepEqual(
      [again.text, again.headers.get('idempotent-replayed')],
      [done[0]?.text, 'true'],
    );
    const decided = Array.from({ length: served.log().size() - before }, (_, i) =>
      entryAt(before + i),
    ).filter(({ type, amount_atomic }) => type === 'gate.decision.v3' && amount_atomic === 77);
    assert.equal(decided.length, 1);
    const other = await served.ask({ ...body, amount_atomic: 78 }, served.agent, headers);
    assert.deepEqual([other.status, other.json.error.code], [409, 'idempotency_key_reused']);
  });

  it('judges fifty acts at once each for itself', async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        served.ask({ ...PAY, amount_atomic: i % 2 === 0 ? 50 : 500 }),
      ),
    );
    assert.deepEqual(
      answers.map(({ json }) => json.outcome),
      Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? 'PERMIT' : 'HOLD')),
    );
    assert.equal(new Set(answers.map(({ json }) => json.decision_entry_id)).size, 50);
  });
});
