// Weeks, nets, slots, proofs and credits in a running gateway with a clock that the test sets.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { adminCall } from '../../support/admin-call.ts';
import type { Draft, JsonObject, Log } from '../../../log/index.ts';
import { trustFromKit } from '../../../log/verify.ts';
import type { Trust } from '../../../log/verify.ts';
import { verifySlotProof } from '../../../plugins/clearing/verify.ts';
import { dueOf, leafOf, NO_NET, slotTree } from '../../../plugins/clearing/net.ts';
import { weekAfter, weekOf, weekWindow, windowOf } from '../../../plugins/contract/weeks.ts';
import { Clock, run } from '../../gateway/running.ts';
import type { Running } from '../../gateway/running.ts';

const WEEK_MS = 7 * 86_400_000;
const env = { LOG_ORIGIN: 'test.example', THREADS: 'off' };

describe('weeks', () => {
  it('are those of ISO 8601', () => {
    for (const [date, week] of [
      ['2026-11-21', '2026-W47'],
      ['2024-12-30', '2025-W01'],
      ['2027-01-03', '2026-W53'],
      ['2021-01-03', '2020-W53'],
      ['2023-01-01', '2022-W52'],
      ['1970-01-01', '1970-W01'],
    ] as const) {
      assert.equal(weekOf(Date.parse(date)), week, date);
    }
    assert.equal(weekWindow('2025-W53'), null);
    assert.equal(weekAfter('2026-W53'), '2027-W01');
  });

  it('follow each other without a gap', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Date.UTC(2200, 0, 1) }), (ms) => {
        const week = weekOf(ms);
        const { from_ms, to_ms } = windowOf(week);
        assert.ok(from_ms <= ms && ms <= to_ms);
        assert.equal(new Date(from_ms).getUTCDay(), 1);
        assert.equal(weekOf(to_ms), week);
        assert.equal(weekOf(to_ms + 1), weekAfter(week));
        assert.equal(windowOf(weekAfter(week)).from_ms, to_ms + 1);
      }),
    );
  });
});

describe('nets', () => {
  it('are tolls less credits, and fees, at any size', () => {
    const net = {
      ...NO_NET,
      tolls_micro_usd: '9007199254740993',
      credits_micro_usd: '9007199254740992',
      fees_micro_usd: '1',
    };
    assert.equal(dueOf(net), '2');
    assert.equal(leafOf('2026-W01', 'a', net).net_micro_usd, '2');
    assert.notDeepEqual(
      slotTree([leafOf('2026-W01', 'a', net)]).root,
      slotTree([leafOf('2026-W02', 'a', net)]).root,
    );
  });
});

describe('the clearing layer', () => {
  const clock = new Clock();
  let running: Running;
  let log: Log;
  let first: string;
  const call = (verb: string, args = {}) => adminCall(running.data, verb, args, env);
  const key = (): { key: string } => ({ key: running.live });
  const latest = async () => (await running.get('/api/v1/clearing/network/latest.json')).json;

  before(async () => {
    // The middle of a week, at any time of the run.
    clock.pass(windowOf(weekOf(clock.wall())).to_ms + WEEK_MS / 2 - clock.wall());
    const env = { CLEARING_ANNUAL_LINK: 'https://pay.example/annual' };
    running = await run(env, { clock });
    log = running.gateway.logs.live;
    first = weekOf(clock.wall());
  });
  after(() => running.close());

  async function passWeek(): Promise<void> {
    await log.whenPublished(log.size());
    running.clock.pass(WEEK_MS);
  }
  const classify = () =>
    running.post('/api/v1/classify', { message: 'Schedule the interview' }, key());
  const credits = async () => (await running.get('/api/v1/clearing/credits', key())).json;

  it('has no slot before the first act, and reports it', async () => {
    assert.deepEqual(await call('clearing close'), { closed: { live: [], sandbox: [] } });
    const json = await latest();
    assert.deepEqual([json.window, json.root, json.acts, json.next], [null, null, 0, null]);
    assert.match(json.checkpoint, /^test\.example\/log\/live\/1\n/);
  });

  it('closes the week of an act once, when it is over', async () => {
    assert.equal((await classify()).status, 200);
    assert.deepEqual(await call('clearing close'), { closed: { live: [], sandbox: [] } });
    assert.equal((await latest()).next.week, first);
    const early = await running.get(`/api/v1/clearing/slots/${first}/proof`, key());
    assert.deepEqual([early.status, early.json.error.code], [409, 'window_not_closed']);
    assert.ok(Number(early.headers.get('retry-after')) > 0);

    await passWeek();
    const closes = await Promise.all([1, 2, 3].map(() => call('clearing close')));
    const closed = closes.flatMap((one) => (one as { closed: { live: string[] } }).closed.live);
    // The scheduled job of the gateway may have closed it before.
    assert.ok(closed.length <= 1, 'once for all callers');
    const { data: slots } = (await running.get('/api/v1/clearing/slots')).json;
    assert.deepEqual(
      slots.map(({ week }: { week: string }) => week),
      [first],
    );
    const json = await latest();
    assert.equal(json.window.week, first);
    assert.equal(json.acts, 1);
    assert.equal(json.consistency, null);
  });

  it('closes missed weeks in order, empty ones too, and links them', async () => {
    await passWeek();
    await passWeek();
    await call('clearing close');
    const { data: slots } = (await running.get('/api/v1/clearing/slots')).json;
    const weeks = slots.map(({ week }: { week: string }) => week);
    assert.deepEqual(weeks, [weekAfter(first, 2), weekAfter(first), first]);
    const [empty] = slots;
    assert.deepEqual([empty.acts, empty.tenants, empty.sum_net_micro_usd], [0, 0, '0']);
    const { map_head_ms } = await log.whenPublished(log.size());
    const question = { key: ['clearing.cycle', 'weekly'], from_ms: 0, to_ms: map_head_ms };
    assert.equal((await log.chain(question)).length, 3);
    const { consistency, slot } = await latest();
    assert.equal(consistency.from, slots[1].checkpoint_size);
    assert.equal(consistency.from_root, slots[1].checkpoint_root);
    assert.equal(slot.links[0].seq, 2);

    const page = (await running.get('/api/v1/clearing/slots?limit=2')).json;
    const more = await running.get(`/api/v1/clearing/slots?limit=2&cursor=${page.next_cursor}`);
    assert.deepEqual([...page.data, ...more.json.data], slots);
    assert.equal(more.json.next_cursor, null);
    assert.equal((await running.get('/api/v1/clearing/slots?cursor=x')).status, 400);
  });

  it('proves a tenant its own week only', async () => {
    const trust = await trustOf(running);
    const path = `/api/v1/clearing/slots/${first}/proof`;
    const proof = (await running.get(path, key())).json as JsonObject;
    const { leaf, index, size } = verifySlotProof(proof, trust);
    assert.equal(leaf.tenant_ref, running.gateway.tenants.inLog('first', 'live').tenant_ref);
    assert.deepEqual([leaf.acts, leaf.tolls_micro_usd, leaf.net_micro_usd], [1, '50000', '50000']);
    assert.ok(index < size);

    const changed = proof['leaf'] as JsonObject;
    const slot = proof['slot'] as JsonObject;
    const lies: JsonObject[] = [
      { ...proof, leaf: { ...changed, acts: 2 } },
      { ...proof, leaf: { ...changed, tolls_micro_usd: '0', net_micro_usd: '0' } },
      { ...proof, leaf: { ...changed, net_micro_usd: '1' } },
      { ...proof, leaf: { ...changed, week: weekAfter(first) } },
      { ...proof, leaf_index: 1 },
      { ...proof, size: 2 },
      { ...proof, path: ['A'.repeat(43) + '='] },
      { ...proof, path: [7] },
      { ...proof, slot: { ...slot, root: '0'.repeat(64) } },
      { ...proof, slot: { ...slot, log: { origin: 'x', index: 1 } } },
      { ...proof, slot: null },
      { ...proof, schema: 'other' },
    ];
    for (const lie of lies) assert.throws(() => verifySlotProof(lie, trust), { name: 'LogError' });

    assert.equal((await running.get(path)).status, 401);
    const other = await running.get(path, { key: running.sandbox });
    assert.equal(other.status, 404, 'the sandbox has no such slot');
    const none = await running.get(`/api/v1/clearing/slots/${weekAfter(first)}/proof`, key());
    assert.equal(none.json.error.code, 'resource_missing');
    for (const week of ['2025-W53', '2001-W01']) {
      assert.equal((await running.get(`/api/v1/clearing/slots/${week}/proof`, key())).status, 404);
    }
  });

  it('uses up credits before it charges tolls, exactly to the micro-USD, with concurrent acts', async () => {
    await call('clearing grant', {
      tenant: 'first',
      kind: 'live',
      sku: 'clearing_quarterly',
      order: 'pi_1',
    });
    await assert.rejects(
      call('clearing grant', {
        tenant: 'first',
        kind: 'live',
        sku: 'clearing_annual',
        order: 'pi_1',
      }),
      /credited already/,
    );
    assert.equal((await credits()).left_usd, '10000.000000');
    const { tenant_ref } = running.gateway.tenants.inLog('first', 'live');
    // 500.03 USD each: at the twentieth act the credits left are less than its toll.
    const act: Draft = {
      type: 'pdtr.decision_not_supplied.v1',
      tenant_ref,
      members: { outcome: 'NOT_SUPPLIED', action_ref: '0'.repeat(64) },
      toll: { id: 'matter_spoliation', micro_usd: 500_030_000 },
    };
    await Promise.all(Array.from({ length: 40 }, () => log.append([act])));
    const left = await credits();
    assert.deepEqual([left.left_micro_usd, left.drawn_micro_usd], ['0', '10000000000']);
    const week = weekOf(clock.wall());
    await passWeek();
    await call('clearing close');
    const { leaf } = (await running.get(`/api/v1/clearing/slots/${week}/proof`, key())).json;
    assert.equal(leaf.credits_micro_usd, '10000000000');
    assert.equal(leaf.net_micro_usd, String(40n * 500_030_000n - 10_000_000_000n));
  });

  it('has the fee of a fired obligation in the usage of its month and in the net of its week', async () => {
    const usage = (query = '') => running.get(`/api/v1/clear/usage${query}`, key());
    const before = (await usage()).json;
    const armed = { template_id: 'bind_gate_hold', enabled_exposure_usd: '4400000' };
    const { json: trigger } = await running.post('/signal/trigger/publish', armed, key());
    const reading = { metric: 'bind_hold', value: 1 };
    const firing = { trigger_id: trigger.trigger_id, reading };
    const fired = await running.post('/api/v1/foundry/trigger/fire', firing, key());
    assert.equal(fired.json.settlement.fee_usd, '22000', fired.text);
    await running.post('/api/v1/foundry/trigger/fire', firing, key());

    const { json } = await usage();
    const fee = 22_000_000_000n;
    assert.equal(BigInt(json.fees_micro_usd) - BigInt(before.fees_micro_usd), fee, 'once');
    assert.deepEqual(json.fees.at(-1), {
      ...{ fee: 'obligation', acts: 1, micro_usd: String(fee), usd: '22000.000000' },
    });
    assert.equal(
      BigInt(json.total_micro_usd),
      BigInt(json.tolls_micro_usd) + BigInt(json.fees_micro_usd),
    );
    assert.match((await usage('?format=csv')).text, /,obligation,1,22000000000,22000\.000000\r\n/);
    const exposure = (await running.get('/api/v1/clear/exposure', key())).json;
    assert.equal(BigInt(exposure.fees_micro_usd), BigInt(json.fees_micro_usd) - fee, 'no tier');

    const week = weekOf(clock.wall());
    await passWeek();
    await call('clearing close');
    const { json: proof } = await running.get(`/api/v1/clearing/slots/${week}/proof`, key());
    assert.equal(proof.leaf.fees_micro_usd, String(fee));
    verifySlotProof(proof as JsonObject, await trustOf(running));
  });

  it('refuses a settlement whose fee is over the ceiling of the month', async () => {
    await call('clear ceiling', { tenant: 'first', kind: 'sandbox', micro_usd: 10_000_000 });
    const own = { key: running.sandbox };
    const armed = { template_id: 'incident_sealed', enabled_exposure_usd: '1000000' };
    const { json } = await running.post('/signal/trigger/publish', armed, own);
    const firing = { trigger_id: json.trigger_id, reading: { metric: 'incident', value: 1 } };
    const fired = await running.post('/api/v1/foundry/trigger/fire', firing, own);
    assert.deepEqual([fired.status, fired.json.error.code], [429, 'rate_limited']);
  });

  it('shows a window ready only where it has a payment link', async () => {
    const { json } = await running.get('/api/v1/clearing/catalog');
    assert.deepEqual([json.all_ready, json.ready_count, json.total_count], [false, 1, 2]);
    const [annual, quarterly] = json.skus;
    assert.equal(annual.payment_link, 'https://pay.example/annual');
    assert.deepEqual([annual.ready, quarterly.ready], [true, false]);
    assert.ok(!('payment_link' in quarterly));
  });
});

async function trustOf(running: Running): Promise<Trust> {
  const kit = (await running.get('/export/offline-verify-kit.json')).json;
  return trustFromKit(kit, running.gateway.logs.live.origin);
}
