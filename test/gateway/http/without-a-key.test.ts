// Requests without a key with the default of ANONYMOUS_WRITES. gateway/API.md §3.3.

import assert from 'node:assert/strict';
import { ENTITY } from '../../plugins/astl/surfaces.ts';
import { settled } from '../../support/settled.ts';
import { ok, run } from '../running.ts';
import type { Answer, Running } from '../running.ts';

const WITNESS = '/api/v1/absence/witness';
const RESTRAINT = '/api/v1/restraint';
const HELD = { action_not_taken: 'wire_transfer', decision_reason: 'over limit' };

describe('without a key, by default', () => {
  let running: Running;
  /** Entry of a restraint without a key. */
  let entry_id: string;
  before(async () => {
    // An empty text is the same as no setting, so the default applies.
    running = await run({ ANONYMOUS_WRITES: '' });
    const { json } = await running.post(RESTRAINT, { ...HELD, session_id: 'shared' });
    assert.equal(json.receipt.sandbox, true);
    entry_id = json.receipt.entry_id as string;
  });
  after(() => running.close());

  const sizes = () => [running.gateway.logs.live.size(), running.gateway.logs.sandbox.size()];

  it('entries go to the sandbox log, and none to the live one', async () => {
    const before = running.gateway.logs.live.size();
    for (const route of running.gateway.routes()) {
      if (route.method !== 'POST' || typeof route.access !== 'string') continue;
      await running.post(route.path.replace(/\{\w+\*?\}/g, 'x'), route.example ?? {});
    }
    const added = Array.from({ length: running.gateway.logs.live.size() - before }, (_, i) =>
      running.gateway.logs.live.entry(before + i),
    );
    assert.deepEqual(added, []);
  });

  it('an entry is found by its id in either log, the live one first', async () => {
    const { json } = await running.post(RESTRAINT, HELD, { key: running.live });
    const live = json.receipt.entry_id as string;
    await settled(running.gateway.logs.live);
    await settled(running.gateway.logs.sandbox);
    for (const [id, sandbox] of [
      [live, false],
      [entry_id, true],
    ] as const) {
      const shown = ok(await running.get(`/r/${id}`, { headers: { Accept: 'application/json' } }));
      assert.equal(shown.sandbox, sandbox);
      assert.equal(ok(await running.get(`/receipt/lookup?entry_id=${id}`)).found, true);
      assert.equal((await running.get(`/r/${id}/tlog-proof`)).status, 200);
      const air = ok(await running.get(`/export/scitt/air/${id}.json`));
      assert.equal(air.receipt.sandbox, sandbox);
      assert.equal((await running.get(`/entries/${id}`)).status, 200);
      const { sample } = ok(
        await running.get(`/standards/issuer-pays-scoreboard.json?entry_id=${id}`),
      );
      assert.equal(sample.found, true);
    }
    const elsewhere = `/receipt/lookup?entry_id=${entry_id}`;
    assert.equal(ok(await running.get(`${elsewhere}&log=live`)).found, false);
    assert.equal(ok(await running.get(elsewhere, { key: running.live })).found, false);
  });

  it('twins and manifests are found by their names in either log', async () => {
    for (const key of [running.live, running.sandbox]) {
      const { entry_id: twin } = ok(
        await running.post(
          '/api/v1/bind-payment',
          {
            ...{ payment_hash: `0x${'ab'.repeat(32)}`, amount_atomic: 1, currency: 'USD' },
            ...{ action_type: 'pay', agent_id: 'a', scope: 's', timestamp_ms: 1790000000000 },
          },
          { key },
        ),
      ).receipt as { entry_id: string };
      ok(await running.get(`/tcb/twin/${twin}`));
      const published = ok(
        await running.post(
          '/api/v1/astl/publish',
          { entity: `did:example:${key.slice(4, 8)}`, surfaces: ['policy_bind'] },
          { key },
        ),
      );
      const query = `?surface_manifest_hash=${String(published.surface_manifest_hash)}`;
      const found = ok(await running.get(`/api/v1/astl/lookup${query}`));
      assert.equal(found.receipt.sandbox, key === running.sandbox);
      assert.equal(ok(await running.get(`/api/v1/astl/verify${query}`)).valid, true);
    }
  });

  it('a session belongs to the log of its entries', async () => {
    const { count } = ok(await running.get('/export/scitt/air/session/shared.json'));
    assert.equal(count, 1);
  });

  it('usage and exposure are those of the tenant public', async () => {
    for (const path of ['clear/usage', 'clear/usage/history', 'clear/exposure', 'nap/usage']) {
      const answer = await running.get(`/api/v1/${path}`);
      assert.equal(ok(answer).sandbox, true);
      assert.equal(answer.headers.get('cache-control'), 'no-store');
      const keyed = ok(await running.get(`/api/v1/${path}`, { key: running.live }));
      assert.notEqual(keyed.tenant_ref, answer.json.tenant_ref);
      const insured = await running.gateway.tenants.issue({
        ...{ tenant: 'acme', kind: 'live', role: 'insured' },
      });
      assert.equal((await running.get(`/api/v1/${path}`, { key: insured.key })).status, 403);
    }
    const { acts } = ok(await running.get('/api/v1/nap/usage'));
    assert.ok((acts as number) >= 1);
  });

  describe('a question to the absence witness', () => {
    let asked: { entity: string; from_ms: number; to_ms: number };
    before(async () => {
      const { clock } = running;
      const surfaces = ['policy_bind', 'claim_payment'];
      ok(
        await running.post(
          '/api/v1/astl/publish',
          { entity: ENTITY, surfaces },
          { key: running.live },
        ),
      );
      clock.pass(1000);
      const from_ms = clock.wall();
      clock.pass(1000);
      asked = { entity: ENTITY, from_ms, to_ms: clock.wall() };
      clock.pass(1000);
      ok(
        await running.post(
          RESTRAINT,
          { ...HELD, entity: ENTITY, surface: 'claim_payment', event_at_ms: from_ms },
          { key: running.live },
        ),
      );
      await settled(running.gateway.logs.live);
    });

    const question = (more: object): Promise<Answer> =>
      running.post(WITNESS, { ...asked, ...more });

    it('is about the live log, appends nothing and gets no receipt', async () => {
      const before = sizes();
      const { witness, receipts } = ok(await question({ surface: 'policy_bind' }));
      assert.deepEqual(
        [witness.verdict, witness.receipt, receipts],
        ['ABSENT', undefined, undefined],
      );
      assert.ok((witness.checkpoint as string).startsWith(running.gateway.logs.live.origin));
      const checked = await running.post('/standards/absence-ledger/verify', {
        document: witness,
        question: witness.question,
      });
      assert.deepEqual([ok(checked).valid, checked.json.verdict], [true, 'ABSENT']);
      assert.deepEqual(sizes(), before);
    });

    it('may be about several surfaces, and gated', async () => {
      const both = { surfaces: ['policy_bind', 'claim_payment'], gate: true };
      const { witnesses, decision, reasons } = ok(await question(both));
      assert.equal(witnesses.length, 2);
      assert.deepEqual([decision, reasons], ['ALLOW', []]);
      const wide = { ...both, to_ms: running.clock.wall() };
      running.clock.pass(1000);
      const present = ok(
        await running.post(WITNESS, { ...asked, ...wide }, { headers: { Prefer: 'wait=10' } }),
      );
      assert.deepEqual(
        [present.decision, present.reasons],
        ['BLOCK', ['claim_payment is PRESENT']],
      );
    });

    it('is answered again under the same Idempotency-Key, although it has no entry', async () => {
      const before = sizes();
      const headers = { 'Idempotency-Key': 'question-1' };
      const body = { ...asked, surface: 'policy_bind' };
      const first = ok(await running.post(WITNESS, body, { headers }));
      const second = ok(await running.post(WITNESS, body, { headers }));
      assert.equal(second.witness.verdict, first.witness.verdict);
      assert.deepEqual(sizes(), before);
    });

    it('is an entry of the log with a key', async () => {
      const { witness } = ok(
        await running.post(WITNESS, { ...asked, surface: 'policy_bind' }, { key: running.live }),
      );
      assert.equal(witness.receipt.type, 'absence.witness.v1');
      assert.ok(running.gateway.logs.live.entry(witness.receipt.index as number));
    });
  });
});
