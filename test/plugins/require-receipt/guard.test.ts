// What the middleware imports, and the options that it refuses at the start.

import assert from 'node:assert/strict';
import { build } from 'esbuild';
import { fileURLToPath } from 'node:url';
import { logReplayStore, requireReceipt } from '../../../plugins/require-receipt/middleware.ts';
import { REFUND } from './services.ts';
import { Keys } from './refunds.ts';

describe('actlog/require-receipt: the guard', () => {
  let keys: Keys;
  before(async () => {
    keys = await Keys.serve();
  });
  after(() => keys.close());

  it('reports invalid options at the start by name', () => {
    const bad = (change: object, told: RegExp): void => {
      assert.throws(() => requireReceipt({ ...keys.options(), ...change }), {
        name: 'TypeError',
        message: told,
      });
    };
    assert.throws(() => requireReceipt(undefined as never), /^TypeError: the options are missing/);
    bad({ tenants: undefined }, /^tenants must/);
    bad({ tenants: [] }, /^tenants must/);
    bad({ tenants: ['acme'] }, /^tenants must/);
    bad({ log: 'log.example' }, /^log does not hold: .*vkey/);
    bad({ log: [] }, /^log must/);
    bad({ log: undefined }, /^log must/);
    bad({ log: [undefined] }, /^log must/);
    bad({ audience: undefined }, /^audience is missing/);
    for (const audience of ['http://x/y', 'https://shop.example/', 'our shop', 'ftp://x']) {
      bad({ audience }, /^audience must be an origin/);
    }
    bad({ jwks: 'http://log.example/jwks.json' }, /^jwks does not hold: .*https/);
    bad({ jwks: 'jwks.json' }, /^jwks does not hold: /);
    bad({ jwks: undefined }, /^jwks must/);
    bad({ jwks: {} }, /^jwks must/);
    bad({ service: null }, /^service must have a name/);
    bad({ service: {} }, /^service must have a name/);
    bad({ replay: {} }, /^replay must/);
    bad({ policy: 'witness' }, /^policy does not hold: /);
    bad({ policy: 1 }, /^policy must/);
    bad({ gate: '/gate' }, /^gate must/);
    bad({ now: 5 }, /^now must/);
    bad({ warn: 'a' }, /^warn must/);
    for (const audience of ['https://shop.example', 'http://localhost:3000', 'shop']) {
      assert.doesNotThrow(() => requireReceipt({ ...keys.options(), audience }));
    }
  });

  it('reports an invalid action at the start', () => {
    const receipts = requireReceipt(keys.options());
    receipts.protect(REFUND);
    assert.throws(() => receipts.protect(REFUND), /twice/);
    const bad = (change: object, told: RegExp): void => {
      const action = { ...REFUND, id: 'b', ...change };
      assert.throws(() => receipts.protect(action), { name: 'TypeError', message: told });
    };
    bad({ action_type: 'a "b"' }, /^action_type of the action b must match/);
    bad({ action_type: undefined }, /^action_type/);
    bad({ method: 'get' }, /^method of the action b must be one of/);
    bad({ path: undefined }, /^path of the action b/);
    bad({ risk: 'critical' }, /^risk/);
    bad({ id: undefined }, /^the id of an action/);
    for (const none of [{}, undefined, null]) {
      assert.throws(() => receipts.protect(none as never), /^TypeError: the id of an action/);
    }
  });

  it('reports invalid options of the replay store at the start', () => {
    const bad = (change: object, told: RegExp): void => {
      const options = { service: 'https://log.example', key: 'svc_live_x', ...change };
      assert.throws(() => logReplayStore(options), { name: 'TypeError', message: told });
    };
    bad({ key: undefined }, /^key must/);
    bad({ key: '' }, /^key must/);
    bad({ key: 'a\nb' }, /^key must/);
    bad({ service: undefined }, /^service must/);
    bad({ service: 'log.example' }, /^service must/);
  });

  it('imports nothing from Node.js and nothing from the server', async () => {
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
