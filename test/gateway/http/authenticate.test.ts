// Authentication and roles: gateway/API.md §3.2 and §3.3.

import assert from 'node:assert/strict';
import { isVisitorRoute } from '../../../gateway/host/visitors.ts';
import { notes } from '../notes.ts';
import { run } from '../running.ts';
import type { Running } from '../running.ts';
import { codeOf } from './envelope.ts';

const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
const note = { text: 'x' };

describe('authentication', () => {
  let running: Running;
  before(async () => (running = await run({}, { plugins: [notes()] })));
  after(() => running.close());

  it('accepts a key in either header, or the same key in both', async () => {
    const { live } = running;
    assert.equal((await running.get('/notes/secret', { key: live })).status, 200);
    assert.equal((await running.get('/notes/secret', { headers: bearer(live) })).status, 200);
    assert.equal(
      (await running.get('/notes/secret', { headers: { authorization: `bearer  ${live}` } }))
        .status,
      200,
    );
    assert.equal(
      (await running.get('/notes/secret', { key: live, headers: bearer(live) })).status,
      200,
    );
  });

  it('refuses two different keys, even if both are valid', async () => {
    const answer = await running.get('/notes/total', {
      key: running.live,
      headers: bearer(running.sandbox),
    });
    assert.equal(codeOf(answer, 401), 'api_key_invalid');
  });

  it('requires a key if the route does', async () => {
    const answer = await running.get('/notes/secret');
    assert.equal(codeOf(answer, 401), 'api_key_missing');
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
    assert.equal(
      codeOf(await running.post('/api/v1/classify', { message: 'x' }), 401),
      'api_key_missing',
    );
  });

  for (const [what, key] of [
    ['unknown', `svc_live_${'x'.repeat(32)}`],
    ['of another shape', 'hello'],
    ['empty', ''],
    ['with spaces around', ' a b '],
  ] as const) {
    it(`never downgrades a key that is ${what} to the public tenant`, async () => {
      const headers = { 'X-API-Key': key };
      const answer = await running.get('/notes/total', { headers });
      assert.equal(codeOf(answer, 401), 'api_key_invalid');
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
      assert.equal(
        codeOf(await running.post('/notes/a', note, { headers }), 401),
        'api_key_invalid',
      );
    });
  }

  it('keeps answers that need a key out of shared caches', async () => {
    const routes = running.gateway.routes().filter((route) => {
      return route.method === 'GET' && route.access !== 'read' && !isVisitorRoute(route);
    });
    assert.ok(routes.some(({ path }) => path === '/api/v1/clear/usage'));
    for (const { path } of routes) {
      const asked = path.replace(/\{\w+\*?\}/g, 'first');
      const { headers } = await running.get(asked, { key: running.live });
      assert.equal(headers.get('cache-control'), 'no-store', path);
    }
  });

  it('refuses other schemes of Authorization', async () => {
    const answer = await running.get('/notes/total', { headers: { Authorization: 'Basic YTpi' } });
    assert.equal(codeOf(answer, 401), 'api_key_invalid');
  });

  it('reports revoked and expired keys, also on routes that need no key', async () => {
    const { tenants } = running.gateway;
    const revoked = await tenants.issue({ tenant: 'acme', kind: 'live' });
    assert.equal((await running.get('/notes/total', { key: revoked.key })).status, 200);
    await tenants.revoke(revoked.key_id);
    assert.equal(
      codeOf(await running.get('/notes/total', { key: revoked.key }), 401),
      'api_key_revoked',
    );
    const expires_at_ms = running.clock.wall() + 1000;
    const expiring = await tenants.issue({ tenant: 'acme', kind: 'live', expires_at_ms });
    assert.equal((await running.get('/notes/total', { key: expiring.key })).status, 200);
    running.clock.pass(1001);
    assert.equal(
      codeOf(await running.get('/notes/total', { key: expiring.key }), 401),
      'api_key_expired',
    );
  });

  it('requires the role of the route; the operator has every role', async () => {
    const carrier = await running.gateway.tenants.issue({
      tenant: 'acme',
      kind: 'live',
      role: 'carrier',
    });
    assert.equal(
      codeOf(await running.get('/notes/secret', { key: carrier.key }), 403),
      'role_forbidden',
    );
    assert.equal((await running.get('/notes/secret', { key: running.live })).status, 200);
  });

  it('gives each tenant its own name in each log, also the public tenant', async () => {
    const refs = new Set<string>();
    for (const key of [running.live, running.sandbox, undefined]) {
      const { json } = await running.post('/notes/a', note, key === undefined ? {} : { key });
      assert.match(json.receipt.tenant_ref, /^[A-Za-z0-9_-]{22}$/);
      refs.add(json.receipt.tenant_ref);
    }
    assert.equal(refs.size, 3);
  });
});

describe('writes without a key', () => {
  it('go to the live log if ANONYMOUS_WRITES is allow', async () => {
    const running = await run({ ANONYMOUS_WRITES: 'allow' }, { plugins: [notes()] });
    const { status, json } = await running.post('/notes/a', note);
    assert.deepEqual([status, json.receipt.sandbox], [200, false]);
    await running.close();
  });

  it('need a key if ANONYMOUS_WRITES is deny; reads do not', async () => {
    const running = await run({ ANONYMOUS_WRITES: 'deny' }, { plugins: [notes()] });
    assert.equal(codeOf(await running.post('/notes/a', note), 401), 'api_key_missing');
    assert.equal((await running.post('/notes/a', note, { key: running.live })).status, 200);
    assert.equal((await running.get('/notes/total')).status, 200);
    await running.close();
  });

  it('go to the sandbox log if ANONYMOUS_WRITES is sandbox', async () => {
    const running = await run({ ANONYMOUS_WRITES: 'sandbox' }, { plugins: [notes()] });
    const { json } = await running.post('/notes/a', note);
    assert.equal(json.receipt.sandbox, true);
    assert.match(json.receipt.origin, /\/log\/sandbox\/1$/);
    await running.close();
  });
});
