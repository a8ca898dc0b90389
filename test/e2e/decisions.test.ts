// The story of one payment, told to a server over HTTP: an agent asks the gate, is held, released and permitted, pays
// and binds what it paid; the carrier lets it be insured, until a violation. Each receipt is checked without the
// server. gateway/API.md §7.4, §8.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { trustFromKit, verifyReceipt } from '../../log/verify.ts';
import type { Json } from '../../log/verify.ts';
import { actlog, startProcess } from './process.ts';
import type { ServerProcess } from './process.ts';
import type { Body } from '../support/body.ts';

const GATE = '/api/v1/execute-gate';
const POLICY = {
  rules: [
    {
      ...{ id: 'large', effect: 'hold', action_types: ['payment.release'] },
      amount: { currency: 'USDC', over: 1_000_000 },
    },
    {
      ...{ id: 'small', effect: 'allow', action_types: ['payment.release'] },
      amount: { currency: 'USDC', at_most: 1_000_000 },
    },
    { id: 'act', effect: 'allow', action_types: ['require_receipt.act'] },
  ],
};
const PAYMENT = {
  ...{ action_type: 'payment.release', agent_id: 'agent:treasury', scope: 'invoice-4711' },
  ...{ amount_atomic: 42_000_000, currency: 'USDC', reversibility: 'irreversible' },
};

describe('decisions, end to end', function () {
  this.timeout(240_000);

  let folder: string;
  let data: string;
  let server: ServerProcess;
  /** Receipts by what they are of, as the story meets them. */
  const receipts = new Map<string, Body>();

  const ask = async (path: string, body?: object, status = 200): Promise<Body> => {
    const response = await fetch(server.url + path, {
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      headers: { 'X-API-Key': server.key, 'Content-Type': 'application/json' },
    });
    const text = await response.text();
    assert.equal(response.status, status, text);
    return JSON.parse(text);
  };
  const keep = (name: string, receipt: Body): void => {
    assert.ok(receipt?.entry_id, name);
    receipts.set(name, receipt);
  };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-decisions-'));
    data = await mkdtemp(join(tmpdir(), 'actlog-e2e-'));
    server = await startProcess(data);
  });
  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
    await rm(data, { recursive: true, force: true });
  });

  let preimage: Body;
  let permit: Body;
  let use_secret: Body;

  it('is silent while nothing covers the act, then holds it for a human', async () => {
    const silent = await ask(GATE, PAYMENT);
    assert.equal(silent.outcome, 'SILENCE');
    keep('silence', silent.receipt);
    keep('its restraint', silent.restraint_receipt);
    keep('policy', (await ask(`${GATE}/policy`, POLICY)).receipt);

    const held = await ask(GATE, { ...PAYMENT, session_id: 'treasury' });
    assert.deepEqual([held.outcome, held.reasons], ['HOLD', ['rule:large']]);
    keep('hold', held.receipt);
    ({ preimage } = held);

    const reason = 'approved by the treasurer';
    const release = { action: 'release', reason };
    const released = await ask(`${GATE}/holds/${held.hold_id as string}`, release);
    assert.deepEqual([released.outcome, released.state], ['PERMIT', 'released']);
    keep('resolution', released.resolution_receipt);
    keep('permit', released.receipt);
    permit = released.receipt;
    ({ use_secret } = released.permit);
    const twice = await ask(`${GATE}/holds/${held.hold_id as string}`, release, 409);
    assert.equal(twice.error.code, 'hold_resolved');
  });

  it('uses the permit once: the agent pays', async () => {
    const use = { ...preimage, use_secret };
    const used = await ask(`${GATE}/permits/use`, { receipt: permit.entry_id, ...use });
    keep('use of the permit', used.receipt);
    const again = await ask(`${GATE}/permits/use`, { receipt: permit, ...use }, 409);
    assert.equal(again.error.code, 'permit_used');
  });

  it('binds the payment to the act, and to no other', async () => {
    const settled = Buffer.from(JSON.stringify({ success: true, transaction: '0x4711' }));
    const payment_hash = createHash('sha256').update(settled).digest('hex');
    const { amount_atomic, currency } = PAYMENT;
    const bind = { payment_hash, ...preimage, amount_atomic, currency, session_id: 'treasury' };
    const bound = await ask('/api/v1/bind-payment', bind);
    keep('settlement', bound.receipt);
    assert.equal(bound.receipt.action_ref, permit.action_ref);
    assert.equal(bound.receipt.decision_entry_id, permit.entry_id, 'the newest of the session');
    const same = await ask('/api/v1/bind-payment', bind);
    assert.equal(same.receipt.entry_id, bound.receipt.entry_id, 'the same bind is the same twin');
    const other = await ask('/api/v1/bind-payment', { ...bind, scope: 'invoice-4712' }, 409);
    assert.equal(other.error.code, 'payment_already_bound');
  });

  it('may be insured, until a violation', async () => {
    const compliance = '/carrier/v1/insured/treasury-agents-inc/compliance';
    const unknown = await ask(compliance);
    assert.deepEqual([unknown.decision, unknown.reasons], ['BLOCK', ['not_enrolled']]);
    keep('check of nobody', unknown.receipt);
    const enrolled = await ask('/carrier/v1/enroll', { company: 'Treasury Agents, Inc.' });
    keep('mandate', enrolled.receipt);
    const { entity } = enrolled;
    const evidence = await ask('/api/v1/classify', { message: 'Pay invoice 4711', entity });
    const allowed = await ask(compliance);
    assert.deepEqual([allowed.decision, allowed.reasons], ['ALLOW', []]);
    assert.equal(allowed.audit[1].entry_id, evidence.entry_id, 'the newest act of the insured');
    keep('compliance', allowed.receipt);

    const message = 'We do not hire people over 50.';
    const violation = await ask('/api/v1/classify', { message, entity, session_id: 'treasury' });
    assert.equal(violation.classification, 'VIOLATION');
    keep('violation', violation);
    const blocked = await ask('/pas/v1/bind-check', {
      ...{ company: 'Treasury Agents, Inc.', policy_id: 'POL 1', action: 'renew' },
    });
    assert.deepEqual([blocked.decision, blocked.reasons], ['BLOCK', ['open_violation']]);
    assert.equal(blocked.audit[1].entry_id, violation.entry_id);
    keep('bind check', blocked.receipt);
  });

  it('leaves receipts that anyone checks without the server, each of them in the log', async () => {
    const kit: Json = await ask('/export/offline-verify-kit.json');
    for (const [name, receipt] of receipts) {
      const trust = trustFromKit(kit, receipt.origin as string);
      const { found, proof } = await ask(`/receipt/lookup?entry_id=${receipt.entry_id as string}`);
      assert.equal(found, true, name);
      const tlogProof = proof.tlog_proof as string;
      const { valid, checks, index } = verifyReceipt(receipt as Json, trust, { tlogProof });
      assert.equal(valid, true, `${name}: ${JSON.stringify(checks)}`);
      assert.equal(checks.find((check) => check.name === 'inclusion')?.outcome, 'ok', name);
      assert.equal(index, receipt.index, name);
      const forged = { ...receipt, issued_at_ms: (receipt.issued_at_ms as number) + 1 } as Json;
      assert.equal(verifyReceipt(forged, trust, { tlogProof }).valid, false, name);
    }
    await writeFile(join(folder, 'kit.json'), JSON.stringify(kit));
    await writeFile(join(folder, 'permit.json'), JSON.stringify(permit));
    const { code, output } = await actlog(folder, 'verify', 'permit.json', '--kit', 'kit.json');
    assert.equal(code, 0, output);
  });

  it('keeps RR-1, as its own runner finds', async () => {
    const { code, output } = await actlog(
      ...([folder, 'conformance', server.url, '--key', server.key] as const),
      ...['--header', `X-API-Key: ${server.key}`],
    );
    assert.equal(code, 0, output);
  });
});
