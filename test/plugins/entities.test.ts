// Acts that can be attempts name their entity. gateway/API.md §9.1.

import assert from 'node:assert/strict';
import { ok } from '../gateway/running.ts';
import { problem, serveSurfaces } from './astl/surfaces.ts';
import type { Surfaces } from './astl/surfaces.ts';

const ACT = { action_type: 'payment.release', agent_id: 'agent:a' };
const ACTS: readonly (readonly [path: string, body: object])[] = [
  ['/api/v1/classify', { message: 'Monday at ten' }],
  ['/api/v1/restraint', { action_not_taken: 'refund', decision_reason: 'under review' }],
  ['/tcb/restraint-atom', { action_not_taken: 'refund', decision_reason: 'under review' }],
  ['/api/v1/execute-gate', ACT],
  ['/api/v1/execute-gate/bind', ACT],
  ['/api/v1/bind-payment', {}],
  ['/tcb/bind-payment', {}],
];

describe('an act of a tenant with several entities', () => {
  let served: Surfaces;
  let payments = 0;
  const act = async (path: string, body: object) => {
    const payment = path.includes('payment')
      ? { payment_hash: String((payments += 1)).padStart(64, '0') }
      : {};
    return served.gateway.post(path, { ...body, ...payment }, { key: served.gateway.sandbox });
  };
  const entitiesSince = (from: number): unknown[] => {
    const log = served.gateway.gateway.logs.sandbox;
    const statements: { entity?: string; type: string }[] = [];
    for (let index = from; index < log.size(); index += 1) {
      statements.push(JSON.parse(log.entry(index) ?? '{}') as (typeof statements)[number]);
    }
    return statements.filter(({ type }) => !type.startsWith('log.')).map(({ entity }) => entity);
  };

  before(async () => {
    served = await serveSurfaces();
    for (const entity of ['alpha', 'beta']) ok(await served.publish({ entity, surfaces: ['pay'] }));
  });
  after(() => served.close());

  for (const [path, body] of ACTS) {
    it(`${path} must name one, or say that it is of none`, async () => {
      const log = served.gateway.gateway.logs.sandbox;
      const before = log.size();
      const refused = await act(path, body);
      assert.deepEqual(problem(refused), [400, 'parameter_missing', 'entity']);
      assert.deepEqual(entitiesSince(before), [], 'a refusal appends nothing');

      ok(await act(path, { ...body, entity: null }));
      const none = entitiesSince(before);
      assert.ok(none.length > 0 && none.every((entity) => entity === undefined));

      const named = log.size();
      ok(await act(path, { ...body, entity: 'beta' }));
      assert.ok(entitiesSince(named).includes('beta'));

      const surfaced = await act(path, { ...body, entity: null, surface: 'pay' });
      assert.deepEqual(problem(surfaced), [400, 'parameter_missing', 'entity']);
    });
  }
});
