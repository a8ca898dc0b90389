// Tests of plugins/absence/spoliation.ts.

import assert from 'node:assert/strict';
import { ENTITY, problem, serveSurfaces } from '../astl/surfaces.ts';
import type { Surfaces } from '../astl/surfaces.ts';

describe('POST /api/v1/absence/spoliation-report', () => {
  let served: Surfaces;
  const report = async (body: object) => {
    const asked = { entity: ENTITY, surface: 'pay', ...body };
    const headers = { Prefer: 'wait=20' };
    const key = served.gateway.sandbox;
    return served.gateway.post('/api/v1/absence/spoliation-report', asked, { key, headers });
  };

  before(async () => {
    served = await serveSurfaces();
    await served.publish({ entity: ENTITY, surfaces: ['pay'], heartbeat_interval_ms: 60_000 });
    served.gateway.clock.pass(10);
  });
  after(() => served.close());

  it('reports missing heartbeats, and acts that only the counter has', async () => {
    const { clock } = served.gateway;
    const from_ms = clock.wall();
    const beat = async (acts_total: number): Promise<number> =>
      (await served.beat({ surface: 'pay', acts_total })).json.receipt.issued_at_ms as number;
    await beat(0);
    clock.pass(30_000);
    await served.act('pay');
    const silent_from = await beat(1);
    clock.pass(240_000);
    const silent_to = await beat(4);
    clock.pass(30_000);
    const to_ms = clock.wall();
    const { status, json } = await report({ from_ms, to_ms });
    assert.equal(status, 200);
    assert.equal(json.report.finding, 'UNCOVERED_AND_UNLOGGED');
    assert.deepEqual(json.report.uncovered, [{ from_ms: silent_from, to_ms: silent_to }]);
    assert.equal(json.report.uncovered_ms, silent_to - silent_from);
    assert.deepEqual(
      [json.report.acts_counted, json.report.acts_logged, json.report.acts_never_logged],
      [4, 1, 3],
    );
    assert.deepEqual(json.report.shortfalls, [
      { from_ms: silent_from, to_ms: silent_to, acts_counted: 3, acts_logged: 0 },
    ]);
    assert.deepEqual([json.report.declared, json.report.interval_ms], [true, 60_000]);
    assert.equal(json.receipt.type, 'absence.spoliation_report.v1');
    assert.deepEqual(json.receipt.uncovered, json.report.uncovered);
    assert.ok(json.does_not_assert.length > 0);
  });

  it('reports nothing if nothing is missing, and names what was not declared', async () => {
    const { clock } = served.gateway;
    const from_ms = clock.wall();
    for (const acts_total of [4, 4, 4]) {
      await served.beat({ surface: 'pay', acts_total });
      clock.pass(30_000);
    }
    const good = await report({ from_ms, to_ms: clock.wall() });
    assert.equal(good.json.report.finding, 'NONE');
    assert.equal(good.json.report.heartbeats, 3);
    const undeclared = await report({ surface: 'bind', from_ms, to_ms: clock.wall() });
    assert.equal(undeclared.json.report.declared, false);
    const early = await report({ from_ms: 0, to_ms: 1 });
    assert.deepEqual(
      [early.json.report.declared, early.json.report.interval_ms, early.json.report.finding],
      [false, null, 'NONE'],
    );
  });

  it('lists fifty gaps and counts them all', async () => {
    const { clock } = served.gateway;
    const from_ms = clock.wall();
    for (let n = 0; n < 60; n++) {
      clock.pass(72_000);
      await served.beat({ surface: 'pay' });
    }
    const { json } = await report({ from_ms, to_ms: clock.wall() });
    assert.deepEqual([json.report.uncovered.length, json.report.uncovered_count], [50, 60]);
  });

  it('answers the same key with the same report, and refuses an open or reversed window', async () => {
    const now = served.gateway.clock.wall();
    const open = await served.gateway.post('/api/v1/absence/spoliation-report', {
      ...{ entity: ENTITY, surface: 'pay', from_ms: now, to_ms: now + 60_000 },
    });
    assert.deepEqual(problem(open), [409, 'window_not_closed', 'to_ms']);
    assert.deepEqual(problem(await report({ from_ms: 2, to_ms: 1 })), [
      ...[400, 'parameter_invalid', 'from_ms'],
    ]);
    const headers = { 'Idempotency-Key': 'spoliation-1' };
    const body = { entity: ENTITY, surface: 'pay', from_ms: 1, to_ms: 2 };
    const post = () => served.gateway.post('/api/v1/absence/spoliation-report', body, { headers });
    const first = await post();
    const again = await post();
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.equal(again.text, first.text);
  });
});
