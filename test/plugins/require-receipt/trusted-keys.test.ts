// How the middleware gets its keys. Without keys it permits nothing.

import assert from 'node:assert/strict';
import {
  actionOf,
  keysFromJwks,
  requireReceipt,
  trustedKeys,
} from '../../../plugins/require-receipt/middleware.ts';
import type { JsonObject } from '../../../log/encoding/json.ts';
import { RECEIPT_KEY } from '../../support/forge.ts';
import { listening } from '../../support/listening.ts';
import { expressService, fetchService, koaService, REFUND } from './services.ts';
import { asked, AUDIENCE, BODY, Keys, log, post } from './refunds.ts';

describe('actlog/require-receipt: trusted keys', () => {
  let keys: Keys;
  before(async () => {
    keys = await Keys.serve();
  });
  after(() => keys.close());

  it('stops waiting for keys after the timeout', async () => {
    const silent = await listening(() => undefined);
    const source = trustedKeys(`${silent.url}/jwks.json`, { timeout_ms: 50 });
    await assert.rejects(source.of(log.origin, RECEIPT_KEY.kid), /cannot be fetched/);
    await silent.close();
  });

  it('fetches the keys once, and again for an unknown key id, but not at each request', async () => {
    const before = keys.fetched;
    const source = trustedKeys(keys.url);
    const found = await Promise.all([1, 2, 3].map(() => source.of(log.origin, RECEIPT_KEY.kid)));
    assert.deepEqual(
      found.map((of) => of.keys[0]?.kid),
      Array(3).fill(RECEIPT_KEY.kid),
    );
    assert.equal(keys.fetched, before + 1);
    await source.of(log.origin, 'unknown');
    await source.of(log.origin, 'unknown');
    assert.ok(keys.fetched <= before + 2, 'unknown key ids do not cause a fetch each');
  });

  it('permits nothing while the keys cannot be fetched or the replay store fails', async () => {
    const closed = await listening((_request, response) => response.writeHead(503).end());
    const receipt = log.header(
      actionOf({ ...REFUND, audience: AUDIENCE, target: '/refunds', fields: BODY }),
    );
    const serve = await expressService({ ...keys.options(), jwks: `${closed.url}/jwks.json` });
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
    const storeless = await expressService({ ...keys.options(), jwks: log.jwks(), replay });
    const told = await post(`${storeless.url}/refunds`, BODY, receipt);
    assert.deepEqual([told.status, told.json.error.type], [503, 'api_error']);
    assert.equal(storeless.done(), 0);
    await storeless.close();
  });

  it('refuses a key that the JWKS it has just fetched marks as revoked', async () => {
    const service = await koaService(keys.options());
    const receipt = log.header(await asked(service));
    keys.jwks = log.jwks({ revoked_at: 1, revoked_index: 1 });
    const told = await post(`${service.url}/refunds`, BODY, receipt);
    assert.equal(told.json.required.refused, 'key_not_in_force');
    keys.jwks = log.jwks();
    await service.close();
  });

  /** A JWKS of another log, with a key of another purpose. */
  const [key] = log.jwks()['keys'] as readonly JsonObject[];
  const OTHER = 'log.example/log/live/2';
  const others = {
    keys: [{ ...key, origin: OTHER }, { ...key, kid: 'hook', purpose: 'webhook' }, { kid: 'a\nb' }],
  };
  const told = [
    `has no receipt key of ${log.origin}, which is pinned`,
    `: its keys are "${RECEIPT_KEY.kid}" of "${OTHER}"`,
    `, "hook" of "${log.origin}" for "webhook", "a\\nb" of no log`,
  ].join('');

  it('accepts no key of another purpose for receipts', () => {
    assert.deepEqual(keysFromJwks(log.jwks({ purpose: 'webhook' }), log.origin).keys, []);
    assert.equal(keysFromJwks(log.jwks(), log.origin).keys.length, 1);
  });

  it('refuses to start with a document that lacks the pinned log', () => {
    const start = (jwks: JsonObject) => () => requireReceipt({ ...keys.options(), jwks });
    const message = `jwks does not hold: the JWKS ${told}`;
    assert.throws(start(others), { name: 'TypeError', message });
    assert.throws(start({ keys: [] }), /which is pinned: it has no key at all$/);
    const many = Array.from({ length: 12 }, () => ({ ...key, origin: OTHER }));
    assert.throws(start({ keys: many }), /are (?:"[^"]+" of "[^"]+", ){8}4 more$/);
    assert.doesNotThrow(start(log.jwks()));
  });

  it('reports before the first act that the pinned log is missing or the JWKS cannot be fetched', async () => {
    keys.jwks = others;
    const warned: string[] = [];
    const options = { ...keys.options(), warn: (line: string) => warned.push(line) };
    const message = `the JWKS at ${keys.url} ${told}`;
    await assert.rejects(requireReceipt(options).ready(), { name: 'LogKeysMissing', message });
    assert.deepEqual(warned, [message]);
    keys.jwks = log.jwks();
    await requireReceipt(options).ready();
    const closed = await listening((_request, response) => response.writeHead(503).end());
    const away = requireReceipt({ ...options, jwks: closed.url });
    await assert.rejects(away.ready(), /cannot be fetched/);
    await closed.close();
  });

  for (const [name, serve] of Object.entries({ koa: koaService, fetch: fetchService })) {
    it(`permits nothing in ${name} until the JWKS has the pinned log, and warns once`, async () => {
      const { now } = performance;
      keys.jwks = others;
      const warned: string[] = [];
      const service = await serve({ ...keys.options(), warn: (line) => warned.push(line) });
      try {
        const receipt = log.header(await asked(service));
        const ask = () => post(`${service.url}/refunds`, BODY, receipt);
        for (const answer of [await ask(), await ask()]) {
          const { code, message } = answer.json.error as { code: string; message: string };
          assert.deepEqual([answer.status, code], [503, 'upstream_error']);
          assert.ok(message.includes(`without a receipt key of ${log.origin}`), message);
          assert.equal(answer.headers.get('retry-after'), '5');
        }
        assert.equal(service.done(), 0);
        assert.deepEqual(warned, [`the JWKS at ${keys.url} ${told}`]);
        // A new fetch waits for the cooldown; the clock is moved past it.
        keys.jwks = log.jwks();
        performance.now = () => now.call(performance) + 6000;
        assert.equal((await ask()).status, 200);
        assert.equal(service.done(), 1);
        assert.equal(warned.length, 1);
      } finally {
        performance.now = now;
        keys.jwks = log.jwks();
        await service.close();
      }
    });
  }
});
