// The partner relay in a running gateway: enrollment, ownership of slugs, counted redirects, status and network.

import assert from 'node:assert/strict';
import type { JsonObject } from '../../../plugins/contract/index.ts';
import { run } from '../../gateway/running.ts';
import type { Answer, Running } from '../../gateway/running.ts';

const TARGETS: readonly (readonly [string, string])[] = [
  ['relay', '/broker-relay'],
  ['demo', '/demo/hero?autorun=1'],
  ['verify', '/verify'],
  ['bind-room', '/bind-room'],
  ['scan', '/scan/exhibit-d'],
  ['clocks', '/clocks/naic'],
  ['hiring', '/hiring-proof'],
  ['mortgage', '/mortgage-proof'],
  ['chatbot', '/chatbot-proof'],
];

describe('plugins/relay', () => {
  let running: Running;
  before(async () => {
    running = await run();
  });
  after(() => running.close());

  const enroll = (partner: string, key?: string, more: object = {}): Promise<Answer> =>
    running.post('/api/v1/relay/enroll', { partner, ...more }, key === undefined ? {} : { key });
  const follow = async (path: string, method = 'GET') => {
    const { status, headers } = await fetch(running.url + path, { method, redirect: 'manual' });
    return { status, location: headers.get('location') };
  };
  const status = async (slug: string): Promise<Answer['json']> =>
    (await running.get(`/go/${slug}/status`)).json;

  it('enrolls a partner with its slug and nine tracked links, and logs names only as commitments', async () => {
    const contact = 'renewals@acme.example';
    const {
      status: code,
      json,
      text,
    } = await enroll('Ácme & Söhne Brokers', running.live, { contact });
    assert.equal(code, 200, text);
    assert.equal(json.slug, 'acme-sohne-brokers');
    assert.equal(json.status_url, 'http://test.example/go/acme-sohne-brokers/status');
    assert.deepEqual(
      json.links,
      TARGETS.map(([target, path]) => ({
        target,
        path,
        url: `http://test.example/go/acme-sohne-brokers/${target}`,
      })),
    );
    assert.equal(json.receipt.type, 'relay.partner.v1');
    assert.deepEqual(Object.keys(json.receipt.commitments as JsonObject).sort(), [
      'contact',
      'partner',
    ]);
    const entry = running.gateway.logs.live.entry(json.receipt.index as number) ?? '';
    assert.ok(!entry.includes(contact) && !entry.includes('Söhne'));
  });

  it('redirects each target to its path and counts the visit once, but does not count HEAD requests', async () => {
    await enroll('Tracked', running.live);
    for (const [target, path] of TARGETS) {
      const location = `${path}${path.includes('?') ? '&' : '?'}partner=tracked`;
      assert.deepEqual(await follow(`/go/tracked/${target}`), { status: 302, location });
    }
    assert.equal((await follow('/go/tracked/verify', 'HEAD')).status, 302);
    await follow('/go/tracked/verify');
    const { links, visits, partner } = await status('tracked');
    assert.equal(partner, 'tracked');
    assert.equal(visits, 10);
    for (const { target, visits: counted } of links) {
      assert.equal(counted, target === 'verify' ? 2 : 1, target);
    }
  });

  it('counts every one of many concurrent visits, also after a restart', async () => {
    const first = await run();
    await first.post('/api/v1/relay/enroll', { partner: 'Busy' }, { key: first.live });
    const visits = Array.from({ length: 200 }, () =>
      fetch(`${first.url}/go/busy/demo`, { redirect: 'manual' }),
    );
    for (const { status: code } of await Promise.all(visits)) assert.equal(code, 302);
    await first.close(true);
    const second = await run({ DATA_DIR: first.data });
    try {
      const { json } = await second.get('/go/busy/status');
      assert.equal(json.visits, 200);
      const network = await second.get('/api/v1/relay/network');
      assert.equal(network.json.visits_by_target.demo, 200);
      assert.equal(network.json.partners, 1);
    } finally {
      await second.close();
    }
  });

  it('answers 404 for an unknown partner or target, and counts nothing', async () => {
    await enroll('Known', running.live);
    assert.equal((await running.get('/go/nobody/verify')).json.error.code, 'resource_missing');
    assert.equal((await running.get('/go/known/nothing')).json.error.param, 'target');
    assert.equal((await running.get('/go/nobody/status')).status, 404);
    assert.equal((await running.get('/go/Known/verify')).status, 400);
    assert.equal((await status('known')).visits, 0);
  });

  it('keeps a slug with its tenant; a repeat is the same entry, a new contact a new one', async () => {
    const one = await enroll('Steady', running.live);
    const same = await enroll('  STEADY! ', running.live);
    assert.equal(same.json.receipt.entry_id, one.json.receipt.entry_id);
    const moved = await enroll('Steady', running.live, { contact: 'new@steady.example' });
    assert.notEqual(moved.json.receipt.entry_id, one.json.receipt.entry_id);
    assert.equal(moved.json.receipt.enrolled_at_ms, one.json.receipt.enrolled_at_ms);
    const refused = await enroll('Steady');
    assert.equal(refused.status, 403);
    assert.equal(refused.json.error.code, 'tenant_forbidden');
    assert.equal(refused.json.error.param, 'partner');
  });

  it('gives a slug that was enrolled without a key to the first tenant that enrolls it with one', async () => {
    const squatter = await enroll('Wanted');
    assert.equal(squatter.json.receipt.anonymous, true);
    const owner = await enroll('Wanted', running.live);
    assert.equal(owner.status, 200);
    assert.equal(owner.json.receipt.anonymous, false);
    assert.equal((await enroll('Wanted')).status, 403);
  });

  it('enrolls one of many concurrent requests for the same slug', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => enroll('Contended', running.live)),
    );
    const ids = new Set(answers.map(({ json }) => json.receipt.entry_id as string));
    assert.equal(ids.size, 1);
  });

  it('keeps the sandbox separate; its links work without a key', async () => {
    const { json } = await enroll('Tryout', running.sandbox);
    assert.equal(json.status_url, 'http://test.example/go/tryout/status?log=sandbox');
    assert.equal((await running.get('/go/tryout/status')).status, 404);
    const link = new URL(json.links[1].url as string);
    const { status: code } = await follow(link.pathname + link.search);
    assert.equal(code, 302);
    assert.equal((await running.get('/go/tryout/status?log=sandbox')).json.visits, 1);
  });

  it('refuses a name that yields no slug', async () => {
    const { status: code, json } = await enroll('株式会社', running.live);
    assert.equal(code, 400);
    assert.equal(json.error.param, 'partner');
  });

  it('lists the network in pages', async () => {
    const slugs: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const { json } = await running.get(`/api/v1/relay/network?limit=2${query}`);
      slugs.push(...json.data.map(({ partner }: { partner: string }) => partner));
      cursor = json.next_cursor as string | null;
      if (cursor === null) assert.equal(json.partners, slugs.length);
    }
    assert.deepEqual(slugs, [...new Set(slugs)].sort());
    assert.ok(slugs.includes('wanted') && slugs.includes('known'));
    assert.equal((await running.get('/api/v1/relay/network?limit=0')).json.error.param, 'limit');
  });
});
