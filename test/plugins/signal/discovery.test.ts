// /.well-known/x402 in the form that x402scan reads.

import assert from 'node:assert/strict';
import { readCatalog } from '../../../plugins/contract/index.ts';
import { run } from '../../gateway/running.ts';
import type { Running } from '../../gateway/running.ts';

describe('plugins/signal', () => {
  let running: Running;
  before(async () => {
    running = await run({ X402_OWNERSHIP_PROOFS: '0x01ab,0x02cd' });
  });
  after(() => running.close());

  it('lists absolute URLs of resources, each with its toll', async () => {
    const { json, headers } = await running.get('/.well-known/x402');
    assert.match(headers.get('content-type') ?? '', /^application\/json/);
    assert.equal(json.version, 1);
    assert.deepEqual(json.ownershipProofs, ['0x01ab', '0x02cd']);
    assert.equal(typeof json.instructions, 'string');
    const { tolls_usd } = readCatalog('tolls.json') as {
      readonly tolls_usd: Readonly<Record<string, number>>;
    };
    assert.ok(json.resources.length > 0);
    for (const [at, url] of (json.resources as readonly string[]).entries()) {
      assert.equal(new URL(url).origin, 'http://test.example');
      assert.equal(json.tolls[at].url, url);
      assert.equal(json.tolls[at].toll_usd, tolls_usd[json.tolls[at].toll as string]);
      assert.equal(json.tolls[at].metered, true);
    }
  });

  it('says for each fee of the layer whether it is metered, and for which acts', async () => {
    const routes = running.gateway.routes().map(({ method, path }) => `${method} ${path}`);
    for (const path of ['/signal/signal-catalog.json', '/api/v1/stack/catalog']) {
      const { fees, signal_fees = fees, metering } = (await running.get(path)).json;
      const { platform_annual, mandate_overage } = metering;
      assert.deepEqual(Object.keys(signal_fees), ['platform_annual_usd', 'mandate_overage_usd']);
      assert.deepEqual([platform_annual.metered, platform_annual.acts], [false, []]);
      assert.deepEqual([mandate_overage.metered, mandate_overage.acts.length], [true, 2]);
      for (const act of mandate_overage.acts) assert.ok(routes.includes(act as string), act);
    }
  });

  it('has no ownership proofs if none are configured', async () => {
    const plain = await run();
    try {
      const { json } = await plain.get('/.well-known/x402');
      assert.deepEqual(json.ownershipProofs, []);
    } finally {
      await plain.close();
    }
  });

  it('refuses to start with an invalid ownership proof', async () => {
    await assert.rejects(run({ X402_OWNERSHIP_PROOFS: 'mine' }), /X402_OWNERSHIP_PROOFS/);
  });
});
