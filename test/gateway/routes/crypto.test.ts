// Tests of gateway/routes/crypto.ts.

import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose';
import type { JsonObject } from '../../../log/index.ts';
import { problem, serve } from './served.ts';
import type { Served } from './served.ts';

describe('gateway/routes/crypto', () => {
  let served: Served;

  before(async () => {
    served = await serve();
  });

  after(() => served.close());

  it('shows the raw key, its PEM and its thumbprint as one key', async () => {
    const key = (await served.get('/crypto/public-key')).json();
    assert.equal(key['algorithm'], 'Ed25519');
    const raw = Buffer.from(key['public_key_b64'] as string, 'base64');
    assert.equal(raw.length, 32);
    const jwk = createPublicKey(key['spki_pem'] as string).export({ format: 'jwk' });
    assert.equal(jwk.x, raw.toString('base64url'));
    assert.equal(await calculateJwkThumbprint(jwk), key['kid']);
    assert.equal(key['offline_verify_kit'], 'http://test.example/export/offline-verify-kit.json');
  });

  it('shows the key that signs receipts of each log', async () => {
    const live = (await served.get('/crypto/public-key')).json();
    const sandbox = (await served.get('/crypto/public-key?log=sandbox')).json();
    assert.notEqual(live['kid'], sandbox['kid']);
    assert.equal((await served.classify(served.live))['kid'], live['kid']);
    assert.equal((await served.classify(served.sandbox))['kid'], sandbox['kid']);
    const other = await served.get('/crypto/public-key?log=other');
    assert.deepEqual(problem(other), { status: 400, code: 'parameter_invalid', param: 'log' });
  });

  it('lists the keys of both logs, also retired and revoked ones', async () => {
    const { live } = served.gateway.logs;
    const [first] = live.receiptKeys();
    assert.ok(first);
    await live.operator.rotateKey();
    const all = (await served.get('/crypto/jwks.json')).json()['keys'] as readonly JsonObject[];
    const keys = all.filter(({ purpose }) => purpose === undefined);
    assert.equal(keys.filter(({ origin }) => origin === live.origin).length, 2);
    assert.equal(keys.length, 3);
    for (const jwk of keys) {
      assert.deepEqual([jwk['use'], jwk['alg']], ['sig', 'EdDSA']);
      assert.equal(await calculateJwkThumbprint(jwk), jwk['kid']);
    }
    const retired = keys.find(({ kid }) => kid === first.kid);
    assert.ok((retired?.['exp'] as number) >= (retired?.['nbf'] as number));
    const now = (await served.get('/crypto/public-key')).json();
    assert.notEqual(now['kid'], first.kid);
    assert.equal(keys.find(({ kid }) => kid === now['kid'])?.['exp'], undefined);
  });

  it('shows at which entries a key was retired and later revoked', async () => {
    const { sandbox } = served.gateway.logs;
    const [{ kid } = { kid: '' }] = sandbox.receiptKeys();
    await sandbox.operator.rotateKey();
    const between = await served.classify(served.sandbox);
    served.clock.pass(5000);
    await sandbox.operator.revokeKey(kid);
    const keys = (await served.get('/crypto/jwks.json')).json()['keys'] as readonly JsonObject[];
    const revoked = keys.find((key) => key['kid'] === kid);
    assert.ok((revoked?.['revoked_index'] as number) > (between['index'] as number));
    assert.ok((revoked?.['revoked_at'] as number) >= (revoked?.['exp'] as number) + 5);
  });

  it('allows cross-origin reads', async () => {
    for (const path of ['/crypto/public-key', '/crypto/jwks.json']) {
      const { headers } = await served.get(path);
      assert.equal(headers.get('access-control-allow-origin'), '*');
    }
  });
});
