// What the middleware stands on, and refuses to start with.

import assert from 'node:assert/strict';
import { build } from 'esbuild';
import { fileURLToPath } from 'node:url';
import { requireReceipt } from '../../../plugins/require-receipt/middleware.ts';
import { REFUND } from './services.ts';
import { Keys } from './refunds.ts';

describe('actlog/require-receipt: the guard', () => {
  let keys: Keys;
  before(async () => {
    keys = await Keys.serve();
  });
  after(() => keys.close());

  it('says at the start what could not hold', () => {
    const bad =
      (change: object): (() => unknown) =>
      () =>
        requireReceipt({ ...keys.options(), ...change });
    assert.throws(bad({ tenants: undefined }), /tenants/);
    assert.throws(bad({ tenants: [] }), /tenants/);
    assert.throws(bad({ tenants: ['acme'] }), /tenants/);
    assert.throws(bad({ log: 'log.example' }), /vkey/);
    assert.throws(bad({ log: [] }), /log/);
    assert.throws(bad({ audience: undefined }), /audience/);
    assert.throws(bad({ jwks: 'http://log.example/jwks.json' }), /https/);
    assert.throws(bad({ policy: 'witness' }), /./);
    const receipts = requireReceipt(keys.options());
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
