// The same payment again: what is the same bind, what conflicts, and who wins when many ask at once.
// gateway/API.md §7.4.

import assert from 'node:assert/strict';
import { problem } from '../astl/surfaces.ts';
import { ACT, entriesFrom, fresh, servePayments } from './payments.ts';
import type { Payments } from './payments.ts';

describe('bind-payment: again', () => {
  let served: Payments;
  before(async () => {
    served = await servePayments();
  });
  after(() => served.close());

  it('replays the same bind, and what was left to its default never conflicts', async () => {
    const payment_hash = fresh();
    const first = await served.bound({ payment_hash });
    served.gateway.clock.pass(5);
    const size = served.log().size();
    assert.deepEqual(await served.bound({ payment_hash }), first);
    assert.equal(
      (await served.bound({ payment_hash: `sha256:${payment_hash.toUpperCase()}` }))['entry_id'],
      first['entry_id'],
    );
    assert.deepEqual(await served.bound({ payment_hash, action_ref: first['action_ref'] }), first);
    const later = entriesFrom(served.log(), size).map(({ type }) => type as string);
    assert.deepEqual(
      later.filter((type) => type.startsWith('pdtr.')),
      [],
      'nothing is appended but map heads',
    );
    const partly = fresh();
    const told = await served.bound({
      payment_hash: partly,
      action_type: 'pay',
      domain: 'lending',
    });
    served.gateway.clock.pass(5);
    const again = await served.bound({
      payment_hash: partly,
      action_type: 'pay',
      domain: 'lending',
    });
    assert.equal(again['entry_id'], told['entry_id']);
    const other = await served.bind({
      payment_hash: partly,
      action_type: 'refund',
      domain: 'lending',
    });
    assert.deepEqual(problem(other), [409, 'payment_already_bound', 'payment_hash']);
  });

  it('binds a payment again only after a bind that was not terminal, with a greater seq', async () => {
    const payment_hash = fresh();
    const open = await served.bound({ payment_hash, ...ACT, seq: 1, terminal: false });
    const back = await served.bind({ payment_hash, ...ACT, scope: 'x', seq: 0 });
    assert.deepEqual(problem(back), [409, 'payment_already_bound', 'payment_hash']);
    const last = await served.bound({ payment_hash, ...ACT, seq: 2 });
    assert.notEqual(last['entry_id'], open['entry_id']);
    assert.equal(last['terminal'], true);
    const early = await served.bound({ payment_hash, ...ACT, seq: 1, terminal: false });
    assert.equal(early['entry_id'], open['entry_id'], 'each bind replays as itself');
    const past = await served.bind({ payment_hash, ...ACT, scope: 'x', seq: 3 });
    assert.deepEqual(problem(past), [409, 'payment_already_bound', 'payment_hash']);
  });

  it('is contested from the second tenant on, and the public tenant blocks no other', async () => {
    const payment_hash = fresh();
    const open = await served.bind({ payment_hash }, { key: null });
    assert.equal(open.json.settlement.preimage.agent_id, 'anonymous');
    const live = served.gateway.live;
    const own = await served.bound({ payment_hash, ...ACT }, live);
    assert.equal(own['contested'], true, 'public bound it before');
    const box = fresh();
    assert.equal((await served.bound({ payment_hash: box, ...ACT }))['contested'], false);
    const rival = await served.bound({ payment_hash: box, agent_id: 'rival' }, served.other);
    assert.equal(rival['contested'], true);
    assert.equal(
      (await served.bound({ payment_hash: box, ...ACT }))['contested'],
      false,
      'a replay',
    );
    const key = JSON.stringify(['payment', box]);
    await served.head();
    const { json } = await served.gateway.get(
      `/log/sandbox/proof/lookup?key=${encodeURIComponent(key)}`,
    );
    assert.equal(json.entries.length, 2, 'the chain shows every bind of every tenant');
  });

  it('makes one twin of 50 binds at once', async () => {
    const payment_hash = fresh();
    const before = served.log().size();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        served.bind(
          { payment_hash },
          { path: i % 2 === 0 ? '/api/v1/bind-payment' : '/v1/bind-payment' },
        ),
      ),
    );
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    assert.equal(new Set(answers.map(({ json }) => json.settlement.entry_id)).size, 1);
    const twins = entriesFrom(served.log(), before).filter(({ type }) => type === 'pdtr.twin.v2');
    assert.equal(twins.length, 1);
  });

  it('lets one of two acts win a payment', async () => {
    const payment_hash = fresh();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        served.bind({ payment_hash, ...ACT, scope: `s${String(i)}` }),
      ),
    );
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [200, ...Array.from({ length: 19 }, () => 409)]);
  });

  it('replays by Idempotency-Key across its alias, and not with another body', async () => {
    const headers = { 'Idempotency-Key': 'bind-once-1' };
    const body = { payment_hash: fresh(), agent_id: 'zebra agent' };
    const first = await served.bind(body, { path: '/api/v1/bind-payment', headers });
    const again = await served.bind(body, { path: '/v1/bind-payment', headers });
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.equal(again.text, first.text);
    const other = await served.bind({ ...body, scope: 'x' }, { path: '/v1/bind-payment', headers });
    assert.deepEqual(problem(other).slice(0, 2), [409, 'idempotency_key_reused']);
  });

  it('gives public the same preimage again, though nothing of it was kept', async () => {
    const headers = { 'Idempotency-Key': 'bind-public-1' };
    const body = { payment_hash: fresh(), scope: 'zebra scope' };
    const first = await served.bind(body, { key: null, headers });
    const again = await served.bind(body, { key: null, headers });
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.equal(
      JSON.stringify(again.json.settlement),
      JSON.stringify(first.json.settlement),
      'member by member',
    );
    assert.equal(again.json.settlement.preimage.scope, 'zebra scope');
  });
});
