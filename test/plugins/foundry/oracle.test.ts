// The oracle over HTTP. gateway/API.md §10.5, §14.

import assert from 'node:assert/strict';
import { aggregate } from '../../../plugins/foundry/oracle/aggregate.ts';
import type { Answer } from '../../gateway/running.ts';
import { problem, serveSurfaces } from '../astl/surfaces.ts';
import type { Surfaces } from '../astl/surfaces.ts';
import { reading, readingsOf } from './readings.ts';

describe('the oracle', () => {
  let served: Surfaces;
  before(async () => {
    served = await serveSurfaces();
  });
  after(() => served.close());

  const post = (path: string, body: object, key?: string | null): Promise<Answer> =>
    served.gateway.post(path, body, key === null ? {} : { key: key ?? served.gateway.sandbox });
  const ask = (body: object, key?: string | null): Promise<Answer> =>
    post(
      '/api/v1/oracle/aggregate',
      { feed_id: 'index', readings: readingsOf('1.00'), ...body },
      key,
    );
  const resolve = (body: object, key?: string | null): Promise<Answer> =>
    post('/api/v1/oracle/resolve', { value: '1', resolver: 'The Panel', ...body }, key);

  it('aggregates readings, and signs what anyone needs to recompute it', async () => {
    const { status, json } = await ask({ readings: readingsOf('1.00', '1.01', 1.02) });
    assert.equal(status, 200);
    assert.deepEqual([json.state, json.consensus], ['CONSENSUS', '1.009425287356321839']);
    const { receipt } = json;
    assert.equal(receipt.type, 'foundry.aggregate.v2');
    assert.deepEqual([receipt.toll, receipt.toll_micro_usd], ['oracle_aggregate', 150_000]);
    const { readings, thresholds, as_of_ms } = receipt;
    const again = aggregate(readings, thresholds, as_of_ms);
    for (const [name, value] of Object.entries(again)) assert.deepEqual(receipt[name], value, name);
    assert.ok(json.does_not_assert.length > 0);
  });

  it('works with and without a key', async () => {
    assert.equal((await ask({}, null)).json.receipt.sandbox, false);
    assert.equal((await ask({}, served.gateway.live)).json.receipt.sandbox, false);
  });

  it('refuses an invalid reading', async () => {
    const bad = async (readings: unknown) => problem(await ask({ readings }));
    const of = (more: object) => [...readingsOf('1', '1'), { ...reading(2, '1'), ...more }];
    const invalid = (param: string) => [400, 'parameter_invalid', param];
    assert.deepEqual(await bad([]), invalid('readings'));
    assert.deepEqual(await bad('1'), invalid('readings'));
    assert.deepEqual(await bad(of({ value: 'NaN' })), invalid('readings.2.value'));
    assert.deepEqual(await bad(of({ value: null })), invalid('readings.2.value'));
    assert.deepEqual(await bad(of({ value: 1e300 })), invalid('readings.2.value'));
    assert.deepEqual(await bad(of({ value: '1'.repeat(40) })), invalid('readings.2.value'));
    assert.deepEqual(await bad(of({ source_id: 'net_a' })), invalid('readings.2.source_id'));
    assert.deepEqual(await bad(of({ source_id: 'net_z' })), invalid('readings.2.source_id'));
    assert.deepEqual(await bad(of({ observed_at_ms: -1 })), invalid('readings.2.observed_at_ms'));
    assert.deepEqual(problem(await ask({ feed_id: 'two words' })), invalid('feed_id'));
    assert.deepEqual(problem(await ask({ dispute_tolerance: 2 })), invalid('dispute_tolerance'));
    assert.deepEqual(problem(await ask({ max_age_ms: 0 })), invalid('max_age_ms'));
    const text = '{"feed_id":"x","readings":[{"source_id":"net_a","value":NaN}]}';
    assert.equal((await served.gateway.post('/api/v1/oracle/aggregate', text)).status, 400);
  });

  it('does not count stale and future readings, and reports them', async () => {
    const now = Date.now();
    const three = readingsOf('1', '1', '1');
    const { json } = await ask({
      readings: [
        ...three,
        { ...reading(3, '9'), observed_at_ms: now - 3_600_000 },
        { ...reading(4, '9'), observed_at_ms: now + 3_600_000 },
      ],
    });
    assert.equal(json.consensus, '1');
    const standings = json.readings.map(({ standing }: { standing: string }) => standing);
    assert.deepEqual(standings.slice(3), ['stale', 'future']);
    const { json: patient } = await ask({
      max_age_ms: 7_200_000,
      readings: [...three, { ...reading(3, '9'), observed_at_ms: now - 3_600_000 }],
    });
    assert.deepEqual([patient.state, patient.readings[3].standing], ['CONSENSUS', 'rejected']);
    assert.equal(patient.receipt.spread_over, 'survivors');
    assert.equal((await ask({ readings: three.slice(1) })).json.state, 'INSUFFICIENT');
  });

  it('resolves a dispute once, by its tenant', async () => {
    const { json: disputed } = await ask({ readings: readingsOf('1', '2', '3') });
    assert.deepEqual([disputed.state, disputed.consensus], ['DISPUTED', null]);
    const { aggregate_entry_id } = disputed;
    const param = 'aggregate_entry_id';
    const foreign = await resolve({ aggregate_entry_id }, served.other);
    assert.deepEqual(problem(foreign), [403, 'tenant_forbidden', param]);
    const [one, two] = await Promise.all([
      resolve({ aggregate_entry_id, value: '2.0' }),
      resolve({ aggregate_entry_id, value: 2 }),
    ]);
    assert.deepEqual([one.status, one.json.state, one.json.value], [200, 'RESOLVED', '2']);
    assert.equal(one.json.resolution_entry_id, two.json.resolution_entry_id);
    assert.ok('resolver' in one.json.receipt.commitments, 'names are not logged in clear');
    const other = await resolve({ aggregate_entry_id, value: '3' });
    assert.deepEqual(problem(other), [409, 'oracle_disputed', 'value']);
    const agreed = (await ask({})).json.aggregate_entry_id as string;
    const needless = await resolve({ aggregate_entry_id: agreed });
    assert.deepEqual(problem(needless), [400, 'parameter_invalid', param]);
    const live = await resolve({ aggregate_entry_id }, served.gateway.live);
    assert.deepEqual(
      problem(live),
      [404, 'resource_missing', param],
      'observations of one log are unknown in the other',
    );
  });
});
