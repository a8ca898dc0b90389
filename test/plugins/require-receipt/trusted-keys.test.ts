// Where the middleware gets its keys, and what it does without them: nothing is permitted.

import assert from 'node:assert/strict';
import { actionOf, trustedKeys } from '../../../plugins/require-receipt/middleware.ts';
import { RECEIPT_KEY } from '../../support/forge.ts';
import { listening } from '../../support/listening.ts';
import { expressService, koaService, REFUND } from './services.ts';
import { asked, AUDIENCE, BODY, Keys, log, post } from './refunds.ts';

describe('actlog/require-receipt: trusted keys', () => {
  let keys: Keys;
  before(async () => {
    keys = await Keys.serve();
  });
  after(() => keys.close());

  it('gives up on keys that do not come', async () => {
    const silent = await listening(() => undefined);
    const source = trustedKeys(`${silent.url}/jwks.json`, { timeout_ms: 50 });
    await assert.rejects(source.of(log.origin, RECEIPT_KEY.kid), /cannot be fetched/);
    await silent.close();
  });

  it('asks for the keys once, and again for one that it does not know', async () => {
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
    assert.ok(keys.fetched <= before + 2, 'strangers cannot make it ask at will');
  });

  it('permits nothing while the keys cannot be fetched, or the store does not answer', async () => {
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

  it('is not fooled by a revoked key that it has just heard of', async () => {
    const service = await koaService(keys.options());
    const receipt = log.header(await asked(service));
    keys.jwks = log.jwks({ revoked_at: 1, revoked_index: 1 });
    const told = await post(`${service.url}/refunds`, BODY, receipt);
    assert.equal(told.json.required.refused, 'key_not_in_force');
    keys.jwks = log.jwks();
    await service.close();
  });
});
