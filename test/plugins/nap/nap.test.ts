// The negative-act premium: which acts are counted under which SKU, and the arithmetic of its catalog.

import assert from 'node:assert/strict';
import { NO_USAGE, withAct } from '../../../plugins/clear/usage.ts';
import { negativeActs, skusOf } from '../../../plugins/nap/routes.ts';
import { readCatalog } from '../../../plugins/index.ts';
import type { JsonObject } from '../../../log/index.ts';
import { run } from '../../gateway/running.ts';
import type { Running } from '../../gateway/running.ts';

const SKUS = skusOf(readCatalog('nap.json') as JsonObject);

describe('negative acts', () => {
  it('are counted by SKU; the legacy alias counts as restraint, and commodity tolls do not count', () => {
    const tolls = ['restraint', 'restraint_call', 'hold', 'classify', 'seal', 'execute_gate'];
    const usage = tolls.reduce(
      (sum, toll) =>
        withAct(
          sum,
          { toll, toll_micro_usd: 150_000, cleared_micro_usd: 0, owed_fee_micro_usd: 0 },
          null,
        ),
      NO_USAGE,
    );
    assert.deepEqual(
      negativeActs(usage, SKUS).filter(({ acts }) => acts > 0),
      [
        { sku: 'hold', acts: 1, micro_usd: '150000' },
        { sku: 'restraint', acts: 2, micro_usd: '300000' },
      ],
    );
  });
});

describe('the nap layer', () => {
  let running: Running;
  before(async () => (running = await run()));
  after(() => running.close());

  it('sums the acts of a tenant in a month', async () => {
    const key = running.sandbox;
    const body = { action_not_taken: 'premium refund', decision_reason: 'under review' };
    await running.post('/api/v1/restraint', body, { key });
    await running.post('/api/v1/spoliation-seal', { trigger_event: 'complaint' }, { key });
    await running.post('/api/v1/classify', { message: 'Schedule the interview' }, { key });
    const { json } = await running.get('/api/v1/nap/usage', { key });
    assert.equal(json.acts, 2);
    assert.equal(json.usd, '0.650000');
    assert.equal(json.governed_acts, 3);
    assert.deepEqual(
      json.skus.map(({ sku, acts }: { sku: string; acts: number }) => [sku, acts]),
      [
        ['ccr', 0],
        ['hold', 0],
        ['restraint', 1],
        ['spoliation_seal', 1],
      ],
    );
    const without = (await running.get('/api/v1/nap/usage')).json;
    assert.equal(without.acts, 0, 'the public tenant has no acts');
  });

  it('serves a catalog and computes an illustrative total', async () => {
    const { json } = await running.get('/api/v1/nap/catalog');
    assert.ok(json.skus.every(({ nap }: { nap: boolean }) => nap));
    const scaled = (await running.get('/api/v1/nap/scale?entities=2&days=10')).json;
    assert.equal(scaled.illustrative, true);
    assert.equal(scaled.inputs.entities, 2);
  });
});
