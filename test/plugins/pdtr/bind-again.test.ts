// The same payment bound again: which requests are replays, which conflict, and which of many concurrent ones
// succeeds. gateway/API.md §7.4.

import assert from 'node:assert/strict';
import { problem } from '../astl/surfaces.ts';
import { ACT, entriesFrom, fresh, servePayments } from './payments.ts';
import type { Payments } from './payments.ts';

describe('bind-payment: repeated', () => {
  let served: Payments;
  before(async () => {
    served = await servePayments();
  });
  after(() => served.close());

  it('replays the same bind, and a member left to its default does not conflict', async () => {
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
      'only map heads are appended',
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

  it('binds a payment again only after a non-terminal bind, with a greater seq', async () => {
    const payment_hash = fresh();
    const open = await served.bound({ payment_hash, ...ACT, seq: 1, terminal: false });
    const back = await served.bind({ payment_hash, ...ACT, scope: 'x', seq: 0 });
    assert.deepEqual(problem(back), [409, 'payment_already_bound', 'payment_hash']);
    const last = await served.bound({ payment_hash, ...ACT, seq: 2 });
    assert.notEqual(last['entry_id'], open['entry_id']);
    assert.equal(last['terminal'], true);
    const early = await served.bound({ payment_hash, ...ACT, seq: 1, terminal: false });
    assert.equal(early['entry_id'], open['entry_id'], 'each bind is replayed as itself');
    const past = await served.bind({ payment_hash, ...ACT, scope: 'x', seq: 3 });
    assert.deepEqual(problem(past), [409, 'payment_already_bound', 'payment_hash']);
  });

  it('marks a payment as contested from the second tenant on; binds of the public tenant block no other', async () => {
    const payment_hash = fresh();
    const open = await served.bind({ payment_hash }, { key: null });
    assert.equal(open.json.settlement.preimage.agent_id, 'anonymous');
    const live = served.gateway.live;
    const own = await served.bound({ payment_hash, ...ACT }, live);
    assert.equal(own['contested'], true, 'the public tenant bound it before');
    const box = fresh();
    assert.equal((await served.bound({ payment_hash: box, ...ACT }))['contested'], false);
    const rival = await served.bound({ payment_hash: box, agent_id: 'rival' }, served.other);
    assert.equal(rival['contested'], true);
    assert.equal(
      (await served.bound({ payment_hash: box, ...ACT }))['contested'],
      false,
      'replayed',
    );
    const key = JSON.stringify(['payment', box]);
    await served.head();
    const { json } = await served.gateway.get(
      `/log/sandbox/proof/lookup?key=${encodeURIComponent(key)}`,
    );
    assert.equal(json.entries.length, 2, 'the chain shows every bind of every tenant');
  });

  it('appends one twin for 50 concurrent binds', async () => {
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

  it('accepts one of two concurrent acts for a payment', async () => {
    const payment_hash = fresh();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        served.bind({ payment_hash, ...ACT, scope: `s${String(i)}` }),
      ),
    );
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [200, ...Array.from({ length: 19 }, () => 409)]);
  });

  it('replays by Idempotency-Key also through the alias path, and refuses another body', async () => {
    const headers = { 'Idempotency-Key': 'bind-once-1' };
    const body = { payment_hash: fresh(), agent_id: 'zebra agent' };
    const first = await served.bind(body, { path: '/api/v1/bind-payment', headers });
    const again = await served.bind(body, { path: '/v1/bind-payment', headers });
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.equal(again.text, first.text);
    const other = await served.bind({ ...body, scope: 'x' }, { path: '/v1/bind-payment', headers });
    assert.deepEqual(problem(other).slice(0, 2), [409, 'idempotency_key_reused']);
  });

  it('returns the same preimage to the public tenant again, though it is not stored', async () => {
    const headers = { 'Idempotency-Key': 'bind-public-1' };
    const body = { payment_hash: fresh(), scope: 'zebra scope' };
    const first = await served.bind(body, { key: null, headers });
    const again = await served.bind(body, { key: null, headers });
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.equal(
      JSON.stringify(again.json.settlement),
      JSON.stringify(first.json.settlement),
      'each member is the same',
    );
    assert.equal(again.json.settlement.preimage.scope, 'zebra scope');
  });
});
