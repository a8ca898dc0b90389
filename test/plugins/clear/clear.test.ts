// Metering in a running gateway: usage, exposure, network, the ceiling, and the same figures after a reindex.

import assert from 'node:assert/strict';
import { adminCall } from '../../support/admin-call.ts';
import type { Draft, Log } from '../../../log/index.ts';
import { monthOf, nextMonthMs } from '../../../plugins/clear/usage.ts';
import { run } from '../../gateway/running.ts';
import type { Answer, Running } from '../../gateway/running.ts';
import { typesFrom } from '../../support/types-from.ts';

const env = { LOG_ORIGIN: 'test.example', THREADS: 'off' };
const USDC = { action_type: 'purchase.fulfill', currency: 'USDC', terminal: true };

describe('the clear layer', () => {
  let running: Running;
  let tenant_ref: string;
  let log: Log;
  before(async () => {
    running = await run();
    log = running.gateway.logs.live;
    tenant_ref = running.gateway.tenants.inLog('first', 'live').tenant_ref;
    // Never in the last minutes of a month.
    const now = running.clock.wall();
    if (monthOf(now) !== monthOf(now + 600_000)) running.clock.pass(600_000);
  });
  after(() => running.close());

  const key = (): { key: string } => ({ key: running.live });
  const usage = async (query = ''): Promise<Answer['json']> =>
    (await running.get(`/api/v1/clear/usage${query}`, key())).json;
  const classify = (key = running.live) =>
    running.post('/api/v1/classify', { message: 'Schedule the interview' }, { key });
  const bind = (n: number, amount_atomic: number, more = {}) =>
    running.post(
      '/api/v1/bind-payment',
      { payment_hash: String(n).padStart(64, '0'), amount_atomic, ...USDC, ...more },
      key(),
    );

  it('adds each governed act to its tenant and month, by toll', async () => {
    for (let n = 0; n < 3; n += 1) assert.equal((await classify()).status, 200);
    assert.equal((await bind(1, 42_000_000)).status, 200);
    await running.post('/api/v1/restraint', { action_not_taken: 'a', decision_reason: 'b' }, key());
    const { json, headers } = await running.get('/api/v1/clear/usage', key());
    assert.deepEqual(
      json.tolls.map(({ toll, acts, usd }: Record<string, unknown>) => [toll, acts, usd]),
      [
        ['classify', 3, '0.150000'],
        ['pdtr_bind', 1, '0.150000'],
        ['restraint', 1, '0.150000'],
      ],
    );
    assert.equal(json.acts, 5);
    assert.equal(json.tolls_usd, '0.450000');
    assert.equal(json.cleared_usd, '42.000000');
    assert.equal(json.fees_usd, '0.008400', '42 USD at 2 basis points');
    assert.equal(json.total_usd, '0.458400');
    assert.equal(json.tenant_ref, tenant_ref);
    assert.match(headers.get('content-type') ?? '', /json/);
  });

  it('counts only USD and USDC as cleared, and only settled payments', async () => {
    const { cleared_micro_usd } = await usage();
    await bind(2, 1_000_000, { currency: 'EUR' });
    await bind(3, 1_000_000, { terminal: false });
    assert.equal((await usage()).cleared_micro_usd, cleared_micro_usd);
    await bind(4, 1, { currency: 'USD' });
    assert.notEqual((await usage()).cleared_micro_usd, cleared_micro_usd);
  });

  it('separates the sandbox and the tenant of callers without a key', async () => {
    await classify(running.sandbox);
    const sandbox = await running.get('/api/v1/clear/usage', { key: running.sandbox });
    assert.equal(sandbox.json.acts, 1);
    assert.equal(sandbox.json.sandbox, true);
    for (const path of ['usage', 'exposure', 'usage/history']) {
      const { status, json } = await running.get(`/api/v1/clear/${path}`);
      assert.equal(status, 200, path);
      assert.notEqual(json.tenant_ref, sandbox.json.tenant_ref);
      assert.equal(json.acts ?? 0, 0);
    }
    const network = (await running.get('/api/v1/clear/network')).json;
    assert.equal(network.tenants, 1);
    assert.equal(network.acts, (await usage()).acts);
  });

  it('moves up a tier by the act that crosses its bound', async () => {
    const path = '/api/v1/clear/exposure';
    const before = (await running.get(path, key())).json;
    assert.equal(before.tier, 'starter');
    // Exactly to the bound, and one micro-USD above it.
    await bind(10, Number(before.to_next_tier_micro_usd));
    const at = (await running.get(path, key())).json;
    assert.deepEqual([at.tier, at.to_next_tier_micro_usd], ['starter', '0']);
    await bind(11, 10_000);
    const over = (await running.get(path, key())).json;
    assert.equal(over.tier, 'growth');
    const growth = over.tiers.find(({ tier }: { tier: string }) => tier === 'growth');
    assert.deepEqual([growth.acts, growth.fees_micro_usd], [1, '1']);
  });

  it('answers months as CSV and as a history, and refuses an invalid month', async () => {
    const csv = await running.get('/api/v1/clear/usage?format=csv', key());
    assert.match(csv.headers.get('content-type') ?? '', /^text\/csv/);
    const lines = csv.text.trimEnd().split('\r\n');
    assert.equal(lines[0], 'month,toll,acts,micro_usd,usd');
    const { acts, total_micro_usd, total_usd, month } = await usage();
    assert.equal(lines.at(-1), `${month},total,${acts},${total_micro_usd},${total_usd}`);
    const history = (await running.get('/api/v1/clear/usage/history?limit=3', key())).json;
    assert.deepEqual(
      history.data.map((one: { acts: number; month: string }) => [one.month, one.acts]),
      [[month, acts]],
      'no week before the log began',
    );
    assert.equal(history.has_more, false);
    for (const bad of ['2026-13', '2026', 'x']) {
      const answer = await running.get(`/api/v1/clear/usage?month=${bad}`, key());
      assert.deepEqual([answer.status, answer.json.error.param], [400, 'month']);
    }
  });

  it('sums thousands of acts under concurrency exactly', async () => {
    const before = await usage();
    const groups = Array.from({ length: 500 }, (_, n) =>
      log.append(
        Array.from({ length: 20 }, (_, i): Draft => ({
          type: 'classify.result.v1',
          tenant_ref,
          members: CLASSIFIED,
          toll: { id: 'classify', micro_usd: 50_000 + n, cleared_micro_usd: i },
        })),
      ),
    );
    await Promise.all(groups);
    const after = await usage();
    assert.equal(after.acts - before.acts, 10_000);
    const tolls = BigInt(after.tolls_micro_usd) - BigInt(before.tolls_micro_usd);
    assert.equal(tolls, 10_000n * 50_000n + 20n * ((499n * 500n) / 2n));
    const cleared = BigInt(after.cleared_micro_usd) - BigInt(before.cleared_micro_usd);
    assert.equal(cleared, 500n * 190n);
  });

  it('starts from zero in a new month', async () => {
    const then = await usage();
    const now = running.clock.wall();
    await log.whenPublished(log.size());
    running.clock.pass(nextMonthMs(now) - now + 1000);
    assert.equal((await usage()).acts, 0);
    await classify();
    const next = await usage();
    assert.equal(next.acts, 1);
    assert.deepEqual(await usage(`?month=${then.month}`), then);
    await bind(20, 5000);
    assert.equal((await running.get('/api/v1/clear/exposure', key())).json.tier, 'starter');
  });

  it('refuses an act over the ceiling with a helpful message, and accepts it when the ceiling is raised', async () => {
    const acts = Number((await usage()).acts);
    const ceiling = (args: object) =>
      adminCall(running.data, 'clear ceiling', { tenant: 'first', kind: 'live', ...args }, env);
    await ceiling({ acts: acts + 1 });
    assert.deepEqual((await usage()).ceiling, { acts: acts + 1, micro_usd: null });
    assert.equal((await classify()).status, 200);
    const size = log.size();
    const refused = await classify();
    assert.equal(refused.status, 429);
    assert.equal(refused.json.error.code, 'rate_limited');
    assert.match(refused.json.error.message, /ceiling of \d+ acts .* operator raises it/);
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    assert.deepEqual(typesFrom(log, size), [], 'a refused act appends no entry');
    assert.equal((await running.get('/api/v1/me', key())).status, 200);

    const { total_micro_usd } = await usage();
    await ceiling({ micro_usd: Number(total_micro_usd) + 60_000 });
    const tried = await Promise.all(Array.from({ length: 6 }, () => classify()));
    assert.equal(tried.filter(({ status }) => status === 200).length, 1, 'there is room for one');
    assert.match(tried.find(({ status }) => status === 429)?.text ?? '', /USD of tolls/);
    await ceiling({});
    assert.equal((await usage()).ceiling, null);
    assert.equal((await classify()).status, 200);
  });

  it('serves its catalog with every toll', async () => {
    const { json } = await running.get('/api/v1/clear/catalog');
    assert.equal(json.tolls_usd.classify, 0.05);
    assert.equal(Object.keys(json.tolls_usd).length, 26);
  });
});

const CLASSIFIED = {
  classification: 'SAFE',
  classifier: { id: 'test', version: '1' },
  domain: 'hiring',
  score_milli: 0,
  violation_milli: 0,
  crisis_milli: 0,
  rule_ids: [],
  language_unsupported: false,
};
