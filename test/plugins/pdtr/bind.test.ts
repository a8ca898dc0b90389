// Binding payments over HTTP: what is logged, what is the same bind, what is refused, and who decides when many
// ask at once. behaviour.md §7.1 to §7.5.

import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { JsonObject, Log } from '../../../log/index.ts';
import { readCatalog } from '../../../plugins/catalog.ts';
import { actionRef, defaultActionRef } from '../../../plugins/pdtr/index.ts';
import { problem, serveSurfaces } from '../astl/surfaces.ts';
import type { Surfaces } from '../astl/surfaces.ts';
import type { Answer } from '../../gateway/running.ts';

const HEADER =
  'eyJzdWNjZXNzIjp0cnVlLCJ0cmFuc2FjdGlvbiI6IjB4MTIzNDU2Nzg5MGFiY2RlZjEyMzQ1Njc4OTBhYmNkZWYxMjM0NTY3' +
  'ODkwYWJjZGVmMTIzNDU2Nzg5MGFiY2RlZiIsIm5ldHdvcmsiOiJlaXAxNTU6ODQ1MzIiLCJwYXllciI6IjB4ODU3YjA2NTE5' +
  'RTkxZTNBNTQ1Mzg3OTFiRGJiMEUyMjM3M2UzNmI2NiJ9';
const ACT = {
  ...{ agent_id: 'agent:checkout-bot', action_type: 'purchase.fulfill' },
  ...{ scope: 'merchant:acme', timestamp_ms: 1_779_200_000_000 },
};
const TUPLE = { ...ACT, seq: 0, terminal: true };

let serial = 0;
/** A payment_hash that no other test has. */
const fresh = (): string => (serial += 1).toString(16).padStart(64, 'c');

describe('bind-payment', () => {
  let served: Surfaces;
  before(async () => {
    served = await serveSurfaces();
  });
  after(() => served.close());

  const bind = (
    body: object,
    key: string | null = served.gateway.sandbox,
    path = '/api/v1/bind-payment',
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> =>
    served.gateway.post(path, body, { headers, ...(key === null ? {} : { key }) });
  const bound = async (body: object, key?: string | null): Promise<JsonObject> => {
    const answer = await bind(body, key);
    assert.equal(answer.status, 200, answer.text);
    return answer.json.settlement as JsonObject;
  };
  const log = (): Log => served.log();

  it('takes a payment_hash alone, and says what it made of it', async () => {
    const payment_hash = `0x${fresh()}`;
    const answer = await bind({ payment_hash });
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

  it('answers the twin receipt of the interface on its own path', async () => {
    const payment_hash = fresh();
    const { status, json } = await bind({ payment_hash, ...ACT }, undefined, '/tcb/bind-payment');
    assert.equal(status, 200);
    assert.equal(json.twin_receipt, true);
    assert.equal(json.ok, true);
    for (const name of ['action_ref', 'decision_entry_id', 'entry_id', 'payment_hash']) {
      assert.equal(typeof json[name], 'string', name);
    }
    assert.equal(json.action_ref, defaultActionRef(TUPLE));
    assert.equal(json.settlement_action_ref, actionRef('x402-settlement-binding-v0', TUPLE));
    const again = await bound({ payment_hash, ...ACT });
    assert.equal(again['entry_id'], json.entry_id, 'both paths bind the same payment');
  });

  it('verifies at twin_verify_url without a key', async () => {
    const { twin_verify_url } = await bound({ payment_hash: fresh(), ...ACT });
    const url = new URL(twin_verify_url as string);
    const { status, json } = await served.gateway.get(url.pathname + url.search);
    assert.equal(status, 200);
    assert.equal(json.valid, false, 'nobody decided');
    const outcomes = Object.fromEntries(
      json.checks.map(({ name, ok }: { name: string; ok: boolean }) => [name, ok]),
    );
    assert.deepEqual(outcomes, {
      ...{ settlement_receipt: true, decision_receipt: true },
      ...{ decision_linked: false, decision_first: true, same_tenant: true },
    });
    const decided = await served.gateway.post(
      '/api/v1/classify',
      { message: 'Schedule the interview for Monday' },
      { key: served.gateway.sandbox },
    );
    const linked = await bound({ payment_hash: fresh(), ...ACT, entry_id: decided.json.entry_id });
    const second = new URL(linked['twin_verify_url'] as string);
    const verified = await served.gateway.get(second.pathname + second.search);
    assert.equal(verified.json.valid, true, verified.text);
    assert.equal(verified.json.decision.entry_id, decided.json.entry_id);
    const proof = new URL(verified.json.payment_proof_url);
    const document = await served.gateway.get(proof.pathname + proof.search);
    assert.equal(document.json.verdict, 'PRESENT');
    assert.equal((await served.gateway.get(second.pathname)).status, 404, 'not in the live log');
    assert.equal((await served.gateway.get('/tcb/twin/x?log=sandbox')).status, 404);
  });

  it('takes the PAYMENT-RESPONSE header itself, and keeps what it says private', async () => {
    const answer = await bind({ payment_response: HEADER });
    assert.equal(answer.status, 200, answer.text);
    const { settlement, receipt } = answer.json;
    assert.equal(
      settlement.payment_hash,
      'd7596affa86b71264321b6de3a497c7cc170a9001a4d6ce9ffd9d034bdcdc808',
    );
    assert.equal(settlement.payment_hash_source, 'payment_response');
    assert.equal(receipt.disclosures.settled.value.network, 'eip155:84532');
    assert.doesNotMatch(log().entry(receipt.index) ?? '', /0x857b|eip155/);
  });

  it('accepts an action_ref of any profile, and chains the default one', async () => {
    for (const [profile, ref] of Object.entries({
      'action-ref-v1-ms': actionRef('action-ref-v1-ms', TUPLE),
      'action-ref-v1': actionRef('action-ref-v1', TUPLE),
      'action-ref-v2': actionRef('action-ref-v2', TUPLE),
      'x402-settlement-binding-v0': actionRef('x402-settlement-binding-v0', TUPLE),
    })) {
      const body = { payment_hash: fresh(), ...ACT, action_ref: ref };
      const settlement = await bound(body);
      assert.equal(settlement['action_ref_profile'], profile);
      assert.equal(settlement['action_ref_verified'], true);
      assert.equal(settlement['action_ref_claimed'], ref);
      assert.equal(settlement['action_ref'], defaultActionRef(TUPLE));
    }
  });

  it('refuses an action_ref that is not of the act, with the recomputed ones', async () => {
    const answer = await bind({ payment_hash: fresh(), ...ACT, action_ref: 'ab'.repeat(32) });
    assert.deepEqual(problem(answer), [400, 'action_ref_mismatch', 'action_ref']);
    assert.match(answer.json.error.message, new RegExp(defaultActionRef(TUPLE)));
    assert.equal(answer.json.computed['action-ref-v1-ms'], defaultActionRef(TUPLE));
  });

  it('keeps an action_ref as claimed when not all of the act was told', async () => {
    const payment_hash = fresh();
    const action_ref = 'ab'.repeat(32);
    const settlement = await bound({ payment_hash, action_ref });
    assert.equal(settlement['action_ref'], action_ref);
    assert.equal(settlement['action_ref_verified'], false);
    assert.equal(settlement['preimage'], null);
    assert.equal((await bound({ payment_hash, action_ref }))['entry_id'], settlement['entry_id']);
    const other = await bind({ payment_hash, action_ref: 'cd'.repeat(32) });
    assert.deepEqual(problem(other), [409, 'payment_already_bound', 'payment_hash']);
    const prefixed = await bound({ payment_hash: fresh(), action_ref: `v2:${action_ref}` });
    assert.equal(prefixed['action_ref_claimed'], `v2:${action_ref}`);
    assert.notEqual(prefixed['action_ref'], action_ref);
    const free = await bind({ payment_hash: fresh(), action_ref: 'my own words' });
    assert.deepEqual(problem(free), [400, 'parameter_invalid', 'action_ref']);
  });

  it('replays the same bind, and what was left to its default never conflicts', async () => {
    const payment_hash = fresh();
    const first = await bound({ payment_hash });
    served.gateway.clock.pass(5);
    const size = log().size();
    assert.deepEqual(await bound({ payment_hash }), first);
    assert.equal(
      (await bound({ payment_hash: `sha256:${payment_hash.toUpperCase()}` }))['entry_id'],
      first['entry_id'],
    );
    assert.deepEqual(await bound({ payment_hash, action_ref: first['action_ref'] }), first);
    const later = entriesFrom(log(), size).map(({ type }) => type as string);
    assert.deepEqual(
      later.filter((type) => type.startsWith('pdtr.')),
      [],
      'nothing is appended but map heads',
    );
    const partly = fresh();
    const told = await bound({ payment_hash: partly, action_type: 'pay', domain: 'lending' });
    served.gateway.clock.pass(5);
    const again = await bound({ payment_hash: partly, action_type: 'pay', domain: 'lending' });
    assert.equal(again['entry_id'], told['entry_id']);
    const other = await bind({ payment_hash: partly, action_type: 'refund', domain: 'lending' });
    assert.deepEqual(problem(other), [409, 'payment_already_bound', 'payment_hash']);
  });

  it('binds a payment again only after a bind that was not terminal, with a greater seq', async () => {
    const payment_hash = fresh();
    const open = await bound({ payment_hash, ...ACT, seq: 1, terminal: false });
    const back = await bind({ payment_hash, ...ACT, scope: 'x', seq: 0 });
    assert.deepEqual(problem(back), [409, 'payment_already_bound', 'payment_hash']);
    const last = await bound({ payment_hash, ...ACT, seq: 2 });
    assert.notEqual(last['entry_id'], open['entry_id']);
    assert.equal(last['terminal'], true);
    const early = await bound({ payment_hash, ...ACT, seq: 1, terminal: false });
    assert.equal(early['entry_id'], open['entry_id'], 'each bind replays as itself');
    const past = await bind({ payment_hash, ...ACT, scope: 'x', seq: 3 });
    assert.deepEqual(problem(past), [409, 'payment_already_bound', 'payment_hash']);
  });

  it('is contested from the second tenant on, and public blocks nobody', async () => {
    const payment_hash = fresh();
    const open = await bind({ payment_hash }, null);
    assert.equal(open.json.settlement.preimage.agent_id, 'anonymous');
    const live = served.gateway.live;
    const own = await bound({ payment_hash, ...ACT }, live);
    assert.equal(own['contested'], true, 'public bound it before');
    const box = fresh();
    assert.equal((await bound({ payment_hash: box, ...ACT }))['contested'], false);
    const rival = await bound({ payment_hash: box, agent_id: 'rival' }, served.other);
    assert.equal(rival['contested'], true);
    assert.equal((await bound({ payment_hash: box, ...ACT }))['contested'], false, 'a replay');
    const key = JSON.stringify(['payment', box]);
    await served.head();
    const { json } = await served.gateway.get(
      `/log/sandbox/proof/lookup?key=${encodeURIComponent(key)}`,
    );
    assert.equal(json.entries.length, 2, 'the chain shows every bind of every tenant');
  });

  it('makes one twin of 50 binds at once', async () => {
    const payment_hash = fresh();
    const before = log().size();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        bind(
          { payment_hash },
          undefined,
          i % 2 === 0 ? '/api/v1/bind-payment' : '/v1/bind-payment',
        ),
      ),
    );
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    assert.equal(new Set(answers.map(({ json }) => json.settlement.entry_id)).size, 1);
    const twins = entriesFrom(log(), before).filter(({ type }) => type === 'pdtr.twin.v1');
    assert.equal(twins.length, 1);
  });

  it('lets one of two acts win a payment', async () => {
    const payment_hash = fresh();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => bind({ payment_hash, ...ACT, scope: `s${String(i)}` })),
    );
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [200, ...Array.from({ length: 19 }, () => 409)]);
  });

  it('links the decision that is named, by id or by hash, and never one that is not', async () => {
    const { json } = await served.gateway.post(
      '/api/v1/classify',
      { message: 'Schedule the interview for Monday' },
      { key: served.gateway.sandbox },
    );
    for (const entry_id of [json.entry_id, json.entry_hash, `sha256:${String(json.entry_hash)}`]) {
      const linked = await bound({ payment_hash: fresh(), ...ACT, entry_id });
      assert.equal(linked['decision_linked'], true);
      assert.equal(linked['decision_entry_id'], json.entry_id);
      assert.deepEqual(
        [linked['decision_type'], linked['decision_outcome']],
        ['classify.result.v1', json.classification],
      );
    }
    const settled = await bind({ payment_hash: fresh(), ...ACT, entry_id: json.entry_id });
    const twin = await served.gateway.get(
      `/tcb/twin/${String(settled.json.receipt.entry_id)}?log=sandbox`,
    );
    const checks = twin.json.checks as { name: string; detail: string }[];
    const linkedBy = checks.find(({ name }) => name === 'decision_linked');
    assert.equal(linkedBy?.detail, 'the decision is in the log, and says SAFE');
    const foreign = await bound(
      { payment_hash: fresh(), ...ACT, entry_id: json.entry_id },
      served.other,
    );
    assert.deepEqual(
      [foreign['decision_linked'], foreign['decision_entry_id'], foreign['decision_outcome']],
      [false, json.entry_id, undefined],
    );
    const words = await bind({ payment_hash: fresh(), ...ACT, entry_id: 'zebra said yes' });
    assert.equal(words.json.settlement.decision_entry_id, 'zebra said yes');
    assert.equal(words.json.settlement.decision_linked, false);
    assert.doesNotMatch(log().entry(words.json.receipt.index) ?? '', /zebra/);
    const itself = await bound({
      payment_hash: fresh(),
      ...ACT,
      entry_id: words.json.receipt.entry_id,
    });
    assert.equal(itself['decision_linked'], false, 'a settlement decides nothing');
  });

  it('has the surface where no decision has it', async () => {
    await served.publish({ entity: 'payer', surfaces: ['payment_authorize'] });
    const place = { entity: 'payer', surface: 'payment_authorize' };
    const alone = await bound({ payment_hash: fresh(), ...ACT, ...place });
    assert.deepEqual([alone['surface'], alone['surface_declared']], ['payment_authorize', true]);
    const { json } = await served.gateway.post(
      '/api/v1/classify',
      { message: 'Schedule the interview for Monday', ...place },
      { key: served.gateway.sandbox },
    );
    const behind = await bound({
      payment_hash: fresh(),
      ...ACT,
      ...place,
      entry_id: json.entry_id,
    });
    assert.deepEqual([behind['entity'], behind['surface']], ['payer', undefined]);
    const other = await bound({ payment_hash: fresh(), ...ACT, entity: 'payer', surface: 'other' });
    assert.equal(other['surface_declared'], false);
    const theirs = await bind({ payment_hash: fresh(), ...place }, served.other);
    assert.deepEqual(problem(theirs), [403, 'tenant_forbidden', 'entity']);
  });

  it('counts USD and USDC as cleared at the end of a payment only', async () => {
    const cleared = async (more: object): Promise<unknown> =>
      (await bind({ payment_hash: fresh(), ...ACT, amount_atomic: 42_000_000, ...more })).json
        .receipt.cleared_micro_usd;
    assert.equal(await cleared({ currency: 'USDC' }), 42_000_000);
    assert.equal(await cleared({ currency: 'EURC' }), undefined);
    assert.equal(await cleared({ currency: 'USDC', terminal: false }), undefined);
    assert.equal(await cleared({ currency: 'zebra coin' }), undefined);
  });

  it('replays by Idempotency-Key across its alias, and not with another body', async () => {
    const headers = { 'Idempotency-Key': 'bind-once-1' };
    const body = { payment_hash: fresh(), agent_id: 'zebra agent' };
    const first = await bind(body, undefined, '/api/v1/bind-payment', headers);
    const again = await bind(body, undefined, '/v1/bind-payment', headers);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.equal(again.text, first.text);
    const other = await bind({ ...body, scope: 'x' }, undefined, '/v1/bind-payment', headers);
    assert.deepEqual(problem(other).slice(0, 2), [409, 'idempotency_key_reused']);
  });

  it('gives public the same preimage again, though nothing of it was kept', async () => {
    const headers = { 'Idempotency-Key': 'bind-public-1' };
    const body = { payment_hash: fresh(), scope: 'zebra scope' };
    const first = await bind(body, null, '/api/v1/bind-payment', headers);
    const again = await bind(body, null, '/api/v1/bind-payment', headers);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(again.json.settlement, first.json.settlement);
    assert.equal(again.json.settlement.preimage.scope, 'zebra scope');
  });

  it('keeps what callers wrote out of the log', async () => {
    const hidden = 'zebra crossing at noon';
    await bound({
      ...{ payment_hash: fresh(), session_id: hidden, domain: hidden, scope: hidden },
      ...{ action_type: hidden, agent_id: hidden, currency: hidden, settlement_rail: hidden },
    });
    for (const kind of ['live', 'sandbox'] as const) {
      const own = served.log(kind);
      for (let index = 0; index < own.size(); index++) {
        assert.doesNotMatch(own.entry(index) ?? '', /zebra/i);
      }
    }
  });

  it('refuses what is malformed, always with the envelope', async () => {
    const long = 'x'.repeat(513);
    const wrong: readonly (readonly [object, string, string])[] = [
      [{}, 'parameter_missing', 'payment_hash'],
      [{ payment_hash: 5 }, 'parameter_invalid', 'payment_hash'],
      [{ payment_hash: 'short' }, 'invalid_payment_hash', 'payment_hash'],
      [{ payment_hash: long }, 'parameter_invalid', 'payment_hash'],
      [{ payment_response: 'e30=' }, 'parameter_invalid', 'payment_response'],
      ...['action_type', 'agent_id', 'currency', 'domain', 'entry_id', 'scope', 'session_id']
        .concat(['settlement_rail', 'action_ref'])
        .flatMap((name) =>
          [long, 5, null, {}].map(
            (value) => [{ [name]: value }, 'parameter_invalid', name] as const,
          ),
        ),
      ...['amount_atomic', 'seq', 'timestamp_ms', 'event_at_ms'].flatMap((name) =>
        [1.5, -1, 2 ** 53, '1', null].map(
          (value) => [{ [name]: value }, 'parameter_invalid', name] as const,
        ),
      ),
      [{ terminal: 1 }, 'parameter_invalid', 'terminal'],
      [{ entity: 'Acme' }, 'parameter_invalid', 'entity'],
      [{ entity: 'payer', surface: 'A' }, 'parameter_invalid', 'surface'],
      [{ event_at_ms: 1 }, 'parameter_invalid', 'event_at_ms'],
    ];
    for (const [body, code, param] of wrong) {
      const payment = 'payment_response' in body || Object.keys(body).length === 0;
      const answer = await bind(payment ? body : { payment_hash: fresh(), ...body });
      assert.deepEqual(problem(answer), [400, code, param], JSON.stringify(body));
    }
    const text = `{"payment_hash":"${fresh()}","scope":"\\ud800"}`;
    const surrogate = await served.gateway.ask('POST', '/v1/bind-payment', {
      body: text,
      headers: { 'Content-Type': 'application/json' },
    });
    assert.equal(surrogate.status, 400);
  });

  it('takes hostile text for what it is', async () => {
    for (const text of ['\u0000', '\u202e', '__proto__', '𝕫', '\u{10ffff}', "';--", '\ufeff']) {
      const settlement = await bound({
        payment_hash: fresh(),
        ...ACT,
        scope: text,
        session_id: text,
      });
      assert.equal((settlement['preimage'] as JsonObject)['scope'], text);
    }
  });

  it('shows its catalog, which its schema allows, and arithmetic over it', async () => {
    const ajv = new Ajv2020({ strict: true, strictRequired: false });
    const validate = ajv.compile(readCatalog('pdtr.schema.json') as object);
    const written = readCatalog('pdtr.json') as object;
    assert.equal(validate(written), true, JSON.stringify(validate.errors));
    assert.equal(validate({ ...written, more: 1 }), false);
    const { json: catalog } = await served.gateway.get('/api/v1/pdtr/catalog');
    assert.deepEqual(
      [catalog.schema, catalog.toll_usd, catalog.rails.length],
      ['svc-pdtr-v1', 0.1, 3],
    );
    const { json } = await served.gateway.get('/api/v1/pdtr/scale?entities=2&days=1');
    assert.equal(json.illustrative, true);
    assert.equal(json.results.at(-1).value, 4);
  });
});

function entriesFrom(log: Log, from: number): JsonObject[] {
  return Array.from(
    { length: log.size() - from },
    (_, i) => JSON.parse(log.entry(from + i) ?? '{}') as JsonObject,
  );
}
