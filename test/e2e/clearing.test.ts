// The commercial layers told twice: what the service says of thousands of mixed acts, and what anybody sums up
// from the public log alone, to the micro-USD. Nothing below the tests' own helpers is shared between the two.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { adminCall } from '../support/admin-call.ts';
import { fsck } from '../../log/operate/fsck/fsck.ts';
import { reindex } from '../../log/operate/reindex.ts';
import type { Draft } from '../../log/index.ts';
import { trustFromKit } from '../../log/verify.ts';
import { verifySlotProof } from '../../plugins/clearing/verify.ts';
import { broughtTypes } from '../../tools/brought-types.ts';
import { skipInCluster } from '../cluster/suite-cluster.ts';
import { Clock, run } from '../gateway/running.ts';
import type { Answer, Running } from '../gateway/running.ts';
import { settled } from '../support/settled.ts';
import { actlog } from './process.ts';
import { byName, leafText, merkle, readLog } from './public-sums.ts';
import type { Told } from './public-sums.ts';

const DAY_MS = 86_400_000;
const TENANTS = ['alpha', 'beta', 'gamma'] as const;
type Tenant = (typeof TENANTS)[number];
const env = { LOG_ORIGIN: 'test.example', THREADS: 'off' };
const ACTS = 3400;
/** Acts without a handler of their own: any type will do, the meter reads the toll. */
const MIX = [
  ['classify', 50_000, 0],
  ['hold', 500_000, 0],
  ['ccr', 1_000_000, 0],
  ['pdtr_bind', 150_000, 1],
  ['restraint_call', 150_000, 0],
  ['bps_fire', 1_000_000, 900_000_000_007],
] as const;

describe('the commercial layers, summed up by a stranger', function () {
  this.timeout(240_000);
  const clock = new Clock();
  const keys = new Map<Tenant, string>();
  let running: Running;
  let told: Told;

  before(async () => {
    // Noon of a month's last day: the weeks below go over its end.
    const now = new Date(clock.wall());
    const last = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 2, 0, 12);
    clock.pass(last - clock.wall());
    running = await run({}, { clock });
    for (const tenant of TENANTS) {
      const order = { tenant, kind: 'live', role: 'carrier' };
      const issued = (await adminCall(running.data, 'keys issue', order, env)) as { key: string };
      keys.set(tenant, issued.key);
      for (const [path, body] of ASKED) assert.equal((await post(tenant, path, body)).status, 200);
    }
    await appendActs(0);
    await pass(DAY_MS);
    const grant = { tenant: 'beta', kind: 'live', sku: 'clearing_quarterly', order: 'order-1' };
    await adminCall(running.data, 'clearing grant', grant, env);
    await appendActs(1);
    await pass(7 * DAY_MS);
    await adminCall(running.data, 'clearing close', {}, env);
    await appendActs(2);
    // Down for two weeks: they are closed by themselves at the start, each once.
    await running.gateway.logs.live.whenPublished(running.gateway.logs.live.size());
    await running.close(true);
    clock.pass(15 * DAY_MS);
    running = await run({ DATA_DIR: running.data }, { clock });
    await untilClosed();
    told = await readLog(running);
  });
  after(() => running.close());

  const keyOf = (tenant: Tenant): { key: string } => ({ key: keys.get(tenant) ?? '' });
  const post = (tenant: Tenant, path: string, body: object): Promise<Answer> =>
    running.post(path, body, keyOf(tenant));
  const get = async (tenant: Tenant, path: string): Promise<Answer['json']> =>
    (await running.get(path, keyOf(tenant))).json;

  async function pass(ms: number): Promise<void> {
    await running.gateway.logs.live.whenPublished(running.gateway.logs.live.size());
    clock.pass(ms);
  }

  async function appendActs(phase: number): Promise<void> {
    const log = running.gateway.logs.live;
    const refs = TENANTS.map((name) => running.gateway.tenants.inLog(name, 'live').tenant_ref);
    await Promise.all(
      Array.from({ length: ACTS }, (_, n) => log.append([actDraft(refs[n % 3] ?? '', n, phase)])),
    );
  }

  async function untilClosed(): Promise<void> {
    const { live } = running.gateway.logs;
    for (let tries = 0; tries < 2400; tries += 1) {
      const { next } = (await running.get('/api/v1/clearing/network/latest.json')).json;
      // What is read below is what is published.
      if (next.closes_at_ms > clock.wall()) return settled(live);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.fail('the weeks were not closed');
  }

  it('has something to sum up', () => {
    assert.ok(told.metered > 3 * ACTS);
    assert.equal(new Set([...told.months.keys()].map((key) => key.split(' ')[0])).size, 2);
    assert.ok(told.slots.length >= 3, String(told.slots.length));
  });

  it('agrees on usage, negative acts and exposure of every tenant and month', async () => {
    for (const [key, sum] of told.months) {
      const [month = '', tenant_ref = ''] = key.split(' ');
      const tenant = tenantOf(tenant_ref);
      const usage = await get(tenant, `/api/v1/clear/usage?month=${month}`);
      assert.equal(usage.tenant_ref, tenant_ref);
      assert.equal(usage.acts, sum.acts);
      assert.equal(usage.tolls_micro_usd, String(sum.tolls));
      assert.equal(usage.cleared_micro_usd, String(sum.cleared));
      assert.equal(usage.fees_micro_usd, String(sum.fees));
      const lines = usage.tolls.map(({ toll, acts }: { toll: string; acts: number }) => [
        toll,
        acts,
      ]);
      assert.deepEqual(lines, [...sum.byToll].sort(byName));
      const exposure = await get(tenant, `/api/v1/clear/exposure?month=${month}`);
      assert.equal(exposure.fees_micro_usd, String(sum.fees));
      const nap = await get(tenant, `/api/v1/nap/usage?month=${month}`);
      const negative = ['ccr', 'hold', 'restraint', 'restraint_call', 'spoliation_seal'];
      const expected = negative.reduce((acts, toll) => acts + (sum.byToll.get(toll) ?? 0), 0);
      assert.equal(nap.acts, expected);
    }
    for (const month of new Set([...told.months.keys()].map((key) => key.split(' ')[0]))) {
      const parts = [...told.months].filter(([key]) => key.startsWith(`${String(month)} `));
      const { json } = await running.get(`/api/v1/clear/network?month=${String(month)}`);
      const total = parts.reduce((sum, [, { tolls }]) => sum + tolls, 0n);
      assert.deepEqual([json.tenants, json.tolls_micro_usd], [parts.length, String(total)]);
    }
  });

  it('agrees on every slot and its root, each week once and in order', () => {
    let week = told.firstWeek;
    for (const slot of told.slots) {
      assert.equal(slot['from_ms'], week, 'no week is left out');
      const nets = [...told.weeks]
        .filter(([key]) => key.startsWith(`${String(week)} `))
        .map(([key, net]) => [key.split(' ')[1] ?? '', net] as const)
        .sort(byName);
      const leaves = nets.map(([ref, net]) => leafText(String(slot['week']), ref, net));
      assert.equal(slot['root'], merkle(leaves).toString('hex'));
      assert.equal(
        slot['acts'],
        nets.reduce((sum, [, { acts }]) => sum + acts, 0),
      );
      const due = nets.reduce((sum, [, net]) => sum + net.tolls - net.credits + net.fees, 0n);
      assert.equal(slot['sum_net_micro_usd'], String(due));
      week += 7 * DAY_MS;
    }
  });

  it('agrees on credits: granted, drawn before tolls, never below nothing', async () => {
    const credits = await get('beta', '/api/v1/clearing/credits');
    const { granted, drawn } = told.credits.get(credits.tenant_ref) ?? { granted: 0n, drawn: 0n };
    assert.equal(credits.granted_micro_usd, String(granted));
    assert.equal(credits.drawn_micro_usd, String(drawn));
    assert.ok(drawn > 0n && drawn <= granted);
    assert.equal((await get('alpha', '/api/v1/clearing/credits')).granted_micro_usd, '0');
  });

  it('gives every tenant a proof of every week that holds without the service', async () => {
    const kit = (await running.get('/export/offline-verify-kit.json')).text;
    const trust = trustFromKit(kit, running.gateway.logs.live.origin);
    let proven = 0;
    for (const slot of told.slots) {
      for (const tenant of TENANTS) {
        const path = `/api/v1/clearing/slots/${String(slot['week'])}/proof`;
        const answer = await running.get(path, keyOf(tenant));
        const { tenant_ref } = running.gateway.tenants.inLog(tenant, 'live');
        const net = told.weeks.get(`${String(slot['from_ms'])} ${tenant_ref}`);
        if (net === undefined) {
          assert.equal(answer.status, 404);
          continue;
        }
        const { leaf } = verifySlotProof(answer.json, trust);
        assert.equal(leaf.tenant_ref, tenant_ref);
        assert.equal(leaf.tolls_micro_usd, String(net.tolls));
        proven += 1;
      }
    }
    assert.ok(proven >= 6);
    const folder = await mkdtemp(join(tmpdir(), 'actlog-clearing-'));
    try {
      const week = String(told.slots[0]?.['week']);
      const proof = await running.get(`/api/v1/clearing/slots/${week}/proof`, keyOf('alpha'));
      await writeFile(join(folder, 'kit.json'), kit);
      await writeFile(join(folder, 'proof.json'), proof.text);
      const ran = await actlog(folder, 'verify', 'proof.json', '--kit', 'kit.json');
      assert.equal(ran.code, 0, ran.output);
      assert.match(ran.output, new RegExp(`VALID: the slot ${week} commits to`));
      const lie = { ...proof.json, leaf: { ...proof.json.leaf, acts: 1 } };
      await writeFile(join(folder, 'proof.json'), JSON.stringify(lie));
      assert.equal((await actlog(folder, 'verify', 'proof.json', '--kit', 'kit.json')).code, 1);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('comes to the same rows when they are derived again', async function () {
    skipInCluster(this, 'no node derives rows again');
    await running.close(true);
    const folder = join(running.data, 'live', '1');
    const types = await broughtTypes({ PLUGINS: [] });
    assert.deepEqual((await fsck({ folder, types })).differences, []);
    await reindex({ folder, types });
    assert.deepEqual((await fsck({ folder, types })).differences, []);
    running = await run({ DATA_DIR: running.data }, { clock });
  });

  function tenantOf(tenant_ref: string): Tenant {
    const { tenants } = running.gateway;
    const found = TENANTS.find((name) => tenants.inLog(name, 'live').tenant_ref === tenant_ref);
    assert.ok(found !== undefined, 'an act of nobody');
    return found;
  }
});

const ASKED: readonly (readonly [string, object])[] = [
  ['/api/v1/classify', { message: 'Schedule the interview for Monday' }],
  ['/api/v1/restraint', { action_not_taken: 'refund', decision_reason: 'under review' }],
  ['/api/v1/execute-gate', { action_type: 'wire.send', agent_id: 'agent:one' }],
  ['/api/v1/spoliation-seal', { trigger_event: 'complaint' }],
  [
    '/api/v1/bind-payment',
    { payment_hash: '7'.repeat(64), amount_atomic: 12_345_678, currency: 'USDC' },
  ],
];

function actDraft(tenant_ref: string, n: number, phase: number): Draft {
  const [id, micro_usd, exposure] = MIX[(n * 7 + phase) % MIX.length] ?? MIX[0];
  const cleared_micro_usd = exposure * (1 + ((n * 31) % 17));
  return {
    type: 'pdtr.decision_not_supplied.v1',
    tenant_ref,
    members: { outcome: 'NOT_SUPPLIED', action_ref: String(phase * ACTS + n).padStart(64, '0') },
    toll: { id, micro_usd, ...(exposure === 0 ? {} : { cleared_micro_usd }) },
  };
}
