// Facts that were settled before a log was closed remain settled in its successor: a payment is bound once, and the
// tenant that sealed can still release the hold. gateway/API.md §1.2, §7.4, §7.9; log/FORMAT.md §1.

import assert from 'node:assert/strict';
import { ok, run } from '../gateway/running.ts';
import type { Running } from '../gateway/running.ts';
import type { Body } from '../support/body.ts';
import { problem } from './astl/surfaces.ts';
import { succeeded } from './succeeded.ts';

const BIND = '/api/v1/bind-payment';
const SEAL = '/api/v1/spoliation-seal';
const hash = (digit: string): string => digit.repeat(64);

describe('a log that follows another', function () {
  this.timeout(60_000);
  let running: Running;
  let key: string;
  let other: string;
  let first: Body;
  let open: Body;
  let sealed: Body;
  let entry_id: string;

  const post = async (path: string, body: object, by = key): Promise<Body> => {
    return ok(await running.post(path, body, { key: by }));
  };

  before(async () => {
    running = await run();
    key = running.live;
    other = (await running.gateway.tenants.issue({ tenant: 'rival', kind: 'live' })).key;
    first = await post(BIND, { payment_hash: hash('a'), agent_id: 'agent:a' });
    open = await post(BIND, { payment_hash: hash('b'), terminal: false, agent_id: 'agent:a' });
    ({ entry_id } = await post('/api/v1/classify', { message: 'Hello' }));
    sealed = await post(SEAL, { trigger_event: 'a claim' });
    running = await succeeded(running);
  });
  after(() => running.close());

  it('keeps a payment bound to its act, and to no other', async () => {
    const headers = { 'Idempotency-Key': 'after-the-succession' };
    for (const more of [{}, { headers }]) {
      const again = await running.post(BIND, { payment_hash: hash('a') }, { key, ...more });
      assert.equal(again.status, 200, again.text);
      assert.equal(again.json.settlement.entry_id, first.settlement.entry_id);
      assert.deepEqual(again.json.receipt, first.receipt);
    }
    const once = await running.post(BIND, { payment_hash: hash('a') }, { key, headers });
    assert.equal(once.headers.get('idempotent-replayed'), 'true');
    const act = { payment_hash: hash('a'), agent_id: 'agent:b' };
    assert.deepEqual(problem(await running.post(BIND, act, { key })), [
      ...[409, 'payment_already_bound', 'payment_hash'],
    ]);
    const { live } = running.gateway.logs;
    const twins = Array.from({ length: live.size() }, (_, i) => live.entry(i) ?? '').filter(
      (text) => text.includes('"pdtr.twin.v2"') && text.includes(hash('a')),
    );
    assert.deepEqual(twins, []);
    const contested = await post(BIND, { payment_hash: hash('a') }, other);
    assert.equal(contested.settlement.contested, true);
  });

  it('binds again what was not terminal, with a larger seq, and replays each bind', async () => {
    const last = await post(BIND, { payment_hash: hash('b'), seq: 1, agent_id: 'agent:b' });
    assert.match(last.receipt.origin, /\/live\/2$/);
    assert.equal(last.settlement.contested, false);
    for (const [seq, bound] of [[0, open] as const, [1, last] as const]) {
      const again = await post(BIND, { payment_hash: hash('b'), seq });
      assert.equal(again.settlement.entry_id, bound.settlement.entry_id);
    }
    const past = { payment_hash: hash('b'), seq: 2, agent_id: 'agent:c' };
    const refused = problem(await running.post(BIND, past, { key }));
    assert.deepEqual(refused.slice(0, 2), [409, 'payment_already_bound']);
  });

  it('ends the hold of a seal, once, and not that of a later one', async () => {
    const erase = () => running.ask('DELETE', `/api/v1/disclosures/${entry_id}`, { key });
    const release = (seal_id: string) =>
      running.post(`${SEAL}/release`, { seal_id, reason: 'it was settled' }, { key });
    assert.deepEqual(problem(await erase()).slice(0, 2), [409, 'retention_hold']);
    const here = await post(SEAL, { trigger_event: 'another claim' });
    assert.equal((await release(sealed.seal_id)).status, 200);
    assert.deepEqual(problem(await release(sealed.seal_id)).slice(0, 2), [409, 'hold_resolved']);
    assert.deepEqual(problem(await erase()).slice(0, 2), [409, 'retention_hold']);
    assert.equal((await release(here.seal_id)).status, 200);
    assert.equal((await erase()).status, 200);
  });
});
