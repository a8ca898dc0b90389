// The middleware in services of others: Express, Koa and fetch, with nothing of actlog but a JWKS that is served.

import assert from 'node:assert/strict';
import { build } from 'esbuild';
import { fileURLToPath } from 'node:url';
import type { Json, JsonObject } from '../../../log/encoding/json-types.ts';
import {
  actionOf,
  gateRequestFor,
  memoryReplayStore,
  parseChallenge,
  requireReceipt,
  trustedKeys,
} from '../../../plugins/require-receipt/middleware.ts';
import type { GuardOptions } from '../../../plugins/require-receipt/middleware.ts';
import { encodePresented } from '../../../plugins/require-receipt/header.ts';
import { RECEIPT_KEY, TENANT } from '../../support/forge.ts';
import { altered, GateLog } from './permits.ts';
import { expressService, fetchService, koaService, listening, REFUND } from './services.ts';
import type { Service } from './services.ts';
import type { Body } from '../../support/body.ts';

const log = new GateLog();
const BODY = { order: 'A-7', amount: 12.5 };

interface Told {
  readonly status: number;
  readonly headers: Headers;
  readonly json: Body;
}

async function post(url: string, body: Json | undefined, receipt?: string): Promise<Told> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(receipt === undefined ? {} : { 'X-Receipt': receipt }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const json: unknown = text === '' ? null : JSON.parse(text);
  return { status: response.status, headers: response.headers, json };
}

/** What the challenge asks for, as an action to permit. */
async function asked(
  service: Service,
  body: Json = BODY,
): Promise<{ action_type: string; action_hash: string }> {
  const { json } = await post(`${service.url}/refunds`, body);
  const { action, action_hash } = json.required as { action: string; action_hash: string };
  return { action_type: action, action_hash };
}

describe('actlog/require-receipt', () => {
  let jwks: JsonObject = log.jwks();
  let fetched = 0;
  let keys: Awaited<ReturnType<typeof listening>>;
  const services = new Map<string, Service>();
  const options = (): GuardOptions => ({
    log: log.vkey,
    jwks: `${keys.url}/crypto/jwks.json`,
    audience: 'https://shop.example',
    tenants: [TENANT],
    service: { name: 'Refunds' },
    now: () => log.ms,
  });

  before(async () => {
    keys = await listening((_request, response) => {
      fetched++;
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(jwks));
    });
    services.set('express', await expressService(options()));
    services.set('koa', await koaService(options()));
    services.set('fetch', await fetchService(options()));
  });
  after(async () => {
    for (const service of services.values()) await service.close();
    await keys.close();
  });

  for (const name of ['express', 'koa', 'fetch']) {
    const service = (): Service => {
      const found = services.get(name);
      assert.ok(found);
      return found;
    };

    it(`challenges with 428 in ${name}`, async () => {
      const { status, headers, json } = await post(`${service().url}/refunds`, BODY);
      assert.equal(status, 428);
      assert.equal(headers.get('cache-control'), 'no-store');
      const { required, error } = json;
      assert.deepEqual(parseChallenge(headers.get('receipt-required') ?? ''), {
        action: 'payment.refund',
        action_hash: required.action_hash,
        manifest: '/.well-known/agent-actions.json',
        proof: 'X-Receipt',
        profile: 'actlog-permit-v1',
        assurance: 'software',
        max_age: '900',
      });
      assert.deepEqual(
        [error.type, error.code, error.request_id],
        ['invalid_request_error', 'receipt_required', headers.get('x-request-id')],
      );
      assert.match(error.request_id, /^req_[0-9A-Za-z]{24}$/);
      assert.deepEqual(required.acceptable_issuers, [
        { origin: log.origin, tenant_refs: [TENANT] },
      ]);
      assert.deepEqual(required.gate_request, {
        action_type: 'payment.refund',
        scope: required.action_hash,
      });
    });

    it(`acts once on a permit in ${name}`, async () => {
      const url = `${service().url}/refunds`;
      const before = service().done();
      const permit = log.permit(await asked(service()));
      const receipt = encodePresented(permit);
      const otherBody = await post(url, { ...BODY, amount: 1200.5 }, receipt);
      assert.equal(otherBody.status, 428, 'the body is bound');
      assert.equal(otherBody.json.required.refused, 'action_mismatch');
      const otherTarget = await post(`${url}?really=1`, BODY, receipt);
      assert.equal(otherTarget.status, 428, 'the query is bound');
      const first = await post(url, BODY, receipt);
      assert.equal(first.status, 200, JSON.stringify(first.json));
      assert.equal(first.json.under, permit.receipt['entry_id']);
      const again = await post(url, BODY, receipt);
      assert.deepEqual([again.status, again.json.error.code], [409, 'permit_used']);
      assert.equal(service().done(), before + 1);
    });

    it(`lets one of many with the same permit act in ${name}`, async () => {
      const receipt = log.header(await asked(service()));
      const told = await Promise.all(
        Array.from({ length: 20 }, () => post(`${service().url}/refunds`, BODY, receipt)),
      );
      const statuses = told.map(({ status }) => status);
      assert.equal(statuses.filter((status) => status === 200).length, 1);
      assert.equal(statuses.filter((status) => status === 409).length, 19);
    });

    it(`refuses what does not permit in ${name}`, async () => {
      const action = await asked(service());
      const good = log.permit(action);
      const id = (good.receipt['entry_id'] as string).replace(/.$/, (last) =>
        last === '0' ? '1' : '0',
      );
      const cases = {
        receipt_malformed: 'not a receipt',
        signature_invalid: encodePresented(altered(good, { entry_id: id })),
        not_a_permit: log.header(action, { outcome: 'DENY' }),
        sandbox_receipt: new GateLog('sandbox').header(action),
        action_mismatch: log.header({ ...action, action_type: 'payment.release' }),
        proof_missing: log.header(action, { unproven: true }),
      };
      for (const [refused, receipt] of Object.entries(cases)) {
        const { status, json } = await post(`${service().url}/refunds`, BODY, receipt);
        assert.equal(status, 428, refused);
        assert.equal(json.required.refused, refused);
      }
      const still = await post(`${service().url}/refunds`, BODY, encodePresented(good));
      assert.equal(still.status, 200, 'what was refused has used nothing up');
    });

    it(`publishes its manifest in ${name}`, async () => {
      const response = await fetch(`${service().url}/.well-known/agent-actions.json`);
      const manifest = (await response.json()) as { actions: JsonObject[]; service: JsonObject };
      assert.equal(manifest.service['name'], 'Refunds');
      assert.deepEqual(manifest.actions[0]?.['match'], {
        protocol: 'http',
        method: 'POST',
        path: '/refunds',
      });
    });
  }

  it('asks an agent for what it is doing, which the agent can check', async () => {
    const { json } = await post(`${services.get('express')?.url ?? ''}/refunds`, BODY);
    const made = { audience: 'https://shop.example', method: 'post', target: '/refunds' };
    const { gate_request } = json.required;
    assert.deepEqual(gateRequestFor(json, made), gate_request);
    const whole = { ...made, action_type: 'payment.refund', fields: BODY };
    assert.deepEqual(gateRequestFor(json, whole), gate_request);
    for (const change of [
      { audience: 'https://other.example' },
      { method: 'PUT' },
      { target: '/refunds?all=1' },
      { action_type: 'payment.release' },
      { fields: { ...BODY, amount: 13 } },
    ]) {
      assert.throws(() => gateRequestFor(json, { ...whole, ...change }), /another act/);
    }
    const { required } = json;
    const action_hash = `sha256:${'0'.repeat(64)}`;
    assert.throws(() => gateRequestFor({ required: { ...required, action_hash } }, made), /not of/);
    const added = { ...required.canonical_action, more: 1 };
    const lied = { required: { ...required, canonical_action: added } };
    assert.throws(() => gateRequestFor(lied, made), /not of/);
    for (const none of [null, {}, { required: 7 }, { required: {} }]) {
      assert.throws(() => gateRequestFor(none, made), Error);
    }
  });

  it('gives up on keys that do not come', async () => {
    const silent = await listening(() => undefined);
    const source = trustedKeys(`${silent.url}/jwks.json`, { timeout_ms: 50 });
    await assert.rejects(source.of(log.origin, RECEIPT_KEY.kid), /cannot be fetched/);
    await silent.close();
  });

  it('refuses to bind a body that nobody has parsed', async () => {
    const url = `${services.get('express')?.url ?? ''}/unparsed`;
    assert.equal((await post(url, BODY)).status, 500);
    assert.equal((await post(url, undefined)).status, 428);
  });

  it('binds what it is told to, and nothing else of the body', async () => {
    const receipts = requireReceipt({ ...options(), jwks: log.jwks() });
    const refund = receipts.protect(REFUND).fetch(
      () => Response.json({ ok: true }),
      async (request) => ({ order: ((await request.json()) as { order: string }).order }),
    );
    const ask = (body: object, receipt: string): Promise<Response> =>
      refund(
        new Request('https://service.example/refunds', {
          method: 'POST',
          body: JSON.stringify(body),
          headers: { 'X-Receipt': receipt },
        }),
      );
    const audience = 'https://shop.example';
    const request = { audience, action_type: 'payment.refund', method: 'POST', target: '/refunds' };
    const receipt = log.header(actionOf({ ...request, fields: { order: 'A-7' } }));
    assert.equal((await ask({ order: 'A-8' }, receipt)).status, 428);
    assert.equal((await ask({ order: 'A-7', note: 'x' }, receipt)).status, 200);
  });

  it('asks for the keys once, and again for one that it does not know', async () => {
    const before = fetched;
    const source = trustedKeys(`${keys.url}/crypto/jwks.json`);
    const found = await Promise.all([1, 2, 3].map(() => source.of(log.origin, RECEIPT_KEY.kid)));
    assert.deepEqual(
      found.map((of) => of.keys[0]?.kid),
      Array(3).fill(RECEIPT_KEY.kid),
    );
    assert.equal(fetched, before + 1);
    await source.of(log.origin, 'unknown');
    await source.of(log.origin, 'unknown');
    assert.ok(fetched <= before + 2, 'strangers cannot make it ask at will');
  });

  it('permits nothing while the keys cannot be fetched, or the store does not answer', async () => {
    const closed = await listening((_request, response) => response.writeHead(503).end());
    const receipt = log.header(
      actionOf({ ...REFUND, audience: 'https://shop.example', target: '/refunds', fields: BODY }),
    );
    const serve = await expressService({ ...options(), jwks: `${closed.url}/jwks.json` });
    const keyless = await post(`${serve.url}/refunds`, BODY, receipt);
    assert.deepEqual([keyless.status, keyless.json.error.code], [503, 'upstream_error']);
    assert.equal(keyless.headers.get('retry-after'), '5');
    await serve.close();
    await closed.close();
    const replay = {
      use: (): boolean => {
        throw new Error('the store is away');
      },
    };
    const storeless = await expressService({ ...options(), jwks: log.jwks(), replay });
    const told = await post(`${storeless.url}/refunds`, BODY, receipt);
    assert.deepEqual([told.status, told.json.error.type], [503, 'api_error']);
    assert.equal(storeless.done(), 0);
    await storeless.close();
  });

  it('is not fooled by a revoked key that it has just heard of', async () => {
    const service = await koaService(options());
    const receipt = log.header(await asked(service));
    jwks = log.jwks({ revoked_at: 1, revoked_index: 1 });
    const told = await post(`${service.url}/refunds`, BODY, receipt);
    assert.equal(told.json.required.refused, 'key_not_in_force');
    jwks = log.jwks();
    await service.close();
  });

  it('says at the start what could not hold', () => {
    const bad =
      (change: object): (() => unknown) =>
      () =>
        requireReceipt({ ...options(), ...change });
    assert.throws(bad({ tenants: undefined }), /tenants/);
    assert.throws(bad({ tenants: [] }), /tenants/);
    assert.throws(bad({ tenants: ['acme'] }), /tenants/);
    assert.throws(bad({ log: 'log.example' }), /vkey/);
    assert.throws(bad({ log: [] }), /log/);
    assert.throws(bad({ audience: undefined }), /audience/);
    assert.throws(bad({ jwks: 'http://log.example/jwks.json' }), /https/);
    assert.throws(bad({ policy: 'witness' }), /./);
    const receipts = requireReceipt(options());
    receipts.protect(REFUND);
    assert.throws(() => receipts.protect(REFUND), /twice/);
    assert.throws(
      () => receipts.protect({ ...REFUND, id: 'b', action_type: 'a "b"' }),
      /action_type/,
    );
  });

  it('stands on nothing of node and nothing of the server', async () => {
    const { metafile } = await build({
      entryPoints: [
        fileURLToPath(new URL('../../../plugins/require-receipt/middleware.ts', import.meta.url)),
      ],
      bundle: true,
      write: false,
      metafile: true,
      format: 'esm',
      platform: 'browser',
      logLevel: 'silent',
    });
    const inputs = Object.keys(metafile.inputs);
    assert.ok(inputs.some((path) => path.endsWith('log/verify.ts')));
    const server = inputs.filter((path) => /(?:^|\/)(?:gateway|koa|level|typebox)\//.test(path));
    assert.deepEqual(server, []);
  });
});

describe('the replay store in memory', () => {
  it('forgets what has ended, and refuses rather than forget what has not', () => {
    let now = 0;
    const store = memoryReplayStore({ max: 2, now: () => now });
    assert.equal(store.use('a', 1000), true);
    assert.equal(store.use('a', 1000), false);
    assert.equal(store.use('b', 1000), true);
    assert.throws(() => store.use('c', 1000), /permits/);
    now = 10_000_000;
    assert.equal(store.use('c', now + 1000), true);
    assert.equal(store.use('c', now + 1000), false);
  });
});
