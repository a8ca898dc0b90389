// Classifications that name an entity, a surface and an event time. gateway/API.md §9.1, §9.2, §14.

import assert from 'node:assert/strict';
import { ENTITY, problem, serveSurfaces } from '../astl/surfaces.ts';
import type { Surfaces } from '../astl/surfaces.ts';

describe('POST /api/v1/classify with an entity', () => {
  let served: Surfaces;
  const classify = (members: object = {}, key = served.gateway.sandbox) =>
    served.gateway.post('/api/v1/classify', { message: 'Monday at ten', ...members }, { key });
  const keysOf = (receipt: { links?: { key: string[] }[] }) =>
    (receipt.links ?? []).map(({ key }) => key[0]);

  before(async () => {
    served = await serveSurfaces();
  });
  after(() => served.close());

  it('names no entity for a tenant without a claim', async () => {
    const { json } = await classify();
    assert.equal('entity' in json, false);
    assert.deepEqual(problem(await classify({ surface: 'pay' })), [
      ...[400, 'parameter_missing', 'entity'],
    ]);
    assert.deepEqual(problem(await classify({ entity: 'unclaimed' })), [
      ...[400, 'parameter_invalid', 'entity'],
    ]);
  });

  it('uses the only entity of its tenant, and reports whether the surface is declared', async () => {
    await served.publish({ entity: ENTITY, surfaces: ['pay'] });
    const { json: plain } = await classify();
    assert.equal(plain.entity, ENTITY);
    assert.equal('surface_declared' in plain, false);
    assert.deepEqual(keysOf(plain), ['entity']);
    const { json: declared } = await classify({ surface: 'pay' });
    assert.equal(declared.surface_declared, true);
    assert.deepEqual(keysOf(declared), ['entity', 'surface']);
    const { json: outside } = await classify({ surface: 'wire', entity: ENTITY });
    assert.equal(outside.surface_declared, false);
    assert.deepEqual(
      keysOf(outside),
      ['entity', 'surface'],
      'the entry is logged and linked nevertheless',
    );
  });

  it('ignores a manifest that is not in force', async () => {
    const valid_from_ms = served.gateway.clock.wall() + 60_000;
    await served.publish({ entity: ENTITY, surfaces: ['pay'], valid_from_ms });
    assert.equal((await classify({ surface: 'pay' })).json.surface_declared, false);
    served.gateway.clock.pass(60_001);
    assert.equal((await classify({ surface: 'pay' })).json.surface_declared, true);
  });

  it("refuses another tenant's entity", async () => {
    const foreign = await classify({ entity: ENTITY }, served.other);
    assert.deepEqual(problem(foreign), [403, 'tenant_forbidden', 'entity']);
  });

  it('requires a name, or null for none, if the tenant has several entities', async () => {
    await served.publish({ entity: 'second', surfaces: [] });
    for (const unnamed of [{}, { surface: 'pay' }, { surface: 'pay', entity: null }]) {
      const refused = problem(await classify(unnamed));
      assert.deepEqual(refused, [400, 'parameter_missing', 'entity']);
    }
    const { json: none } = await classify({ entity: null });
    assert.equal('entity' in none, false);
    assert.deepEqual(keysOf(none), []);
    assert.equal((await classify({ entity: 'second' })).json.entity, 'second');
  });

  it('accepts an event time', async () => {
    const event_at_ms = served.gateway.clock.wall() - 5000;
    assert.equal((await classify({ event_at_ms, entity: null })).json.event_at_ms, event_at_ms);
  });
});
