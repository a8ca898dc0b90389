// Policies and holds in a closed log that its successor did not carry, as with an earlier release: none of them is in
// force, and answers name the closed log. gateway/API.md §8.1.

import assert from 'node:assert/strict';
import { ok, run } from '../../gateway/running.ts';
import type { Running } from '../../gateway/running.ts';
import { skipInCluster } from '../../cluster/suite-cluster.ts';
import type { Body } from '../../support/body.ts';
import { problem } from '../astl/surfaces.ts';
import { succeeded } from '../succeeded.ts';
import { GATE, PAY, POLICY } from './asking.ts';

const HELD = { ...PAY, amount_atomic: 500 };
const RELEASE = { action: 'release', reason: 'invoice checked' };

describe('the gate of a successor log that carried nothing', function () {
  this.timeout(60_000);
  let running: Running;
  let key: string;
  let other: string;
  let put: Body;
  let held: Body;
  let released: Body;

  const post = async (path: string, body: object, by = key): Promise<Body> => {
    return ok(await running.post(path, body, { key: by }));
  };
  const get = async (path: string, by = key): Promise<Body> => {
    return ok(await running.get(path, { key: by }));
  };

  before(async function () {
    skipInCluster(this, 'the earlier release that carried nothing had no clusters');
    running = await run();
    key = running.live;
    other = (await running.gateway.tenants.issue({ tenant: 'rival', kind: 'live' })).key;
    put = await post(`${GATE}/policy`, POLICY);
    held = await post(GATE, HELD);
    released = await post(GATE, HELD);
    await post(`${GATE}/holds/${String(released.hold_id)}`, RELEASE);
    assert.equal('closed_logs' in (await get(`${GATE}/holds`)), false);
    running = await succeeded(running, { carried: false });
  });
  after(() => (running as Running | undefined)?.close());

  it('answers SILENCE, and says that the policy is in the closed log', async () => {
    const answer = await post(GATE, PAY);
    assert.equal(answer.outcome, 'SILENCE');
    assert.deepEqual(answer.reasons, ['no_policy', 'policy_in_closed_log']);
    assert.deepEqual([answer.policy_version, answer.receipt.policy_entry_id], [0, undefined]);
    assert.deepEqual(answer.receipt.reasons, answer.reasons);
    assert.deepEqual((await post(GATE, PAY, other)).reasons, ['no_policy']);
    assert.deepEqual((await post(`${GATE}/bind`, PAY)).reasons, answer.reasons);
  });

  it('shows the policy of the closed log, and none in force', async () => {
    const { policy, policy_version, closed_log } = await get(`${GATE}/policy`);
    assert.deepEqual([policy, policy_version], [null, 0]);
    const { log, ...earlier } = closed_log;
    const { ok: _, ...before } = put;
    assert.equal(log, 'live/1');
    assert.deepEqual({ ...earlier, receipt: null }, { ...before, receipt: null });
    assert.equal(earlier.receipt.entry_id, put.receipt.entry_id);
    assert.equal('closed_log' in (await get(`${GATE}/policy`, other)), false);
  });

  it('lists the holds of the closed log on request, and otherwise names that log', async () => {
    const { data: holds, closed_logs } = await get(`${GATE}/holds`);
    assert.deepEqual([holds, closed_logs], [[], ['live/1']]);
    const earlier = await get(`${GATE}/holds?log_number=1`);
    assert.deepEqual(
      (earlier.data as Body[]).map((hold) => [hold.entry_id, hold.disclosures.preimage.value]),
      [[held.hold_id, held.preimage]],
    );
    assert.equal('closed_logs' in earlier, false);
    assert.equal('closed_logs' in (await get(`${GATE}/holds`, other)), false);
    const unknown = await running.get(`${GATE}/holds?log_number=3`, { key });
    assert.deepEqual(problem(unknown), [400, 'parameter_invalid', 'log_number']);
  });

  it('resolves no hold of the closed log, and names that log', async () => {
    const path = `${GATE}/holds/${String(held.hold_id)}`;
    const size = running.gateway.logs.live.size();
    const refused = await running.post(path, RELEASE, { key });
    assert.deepEqual(problem(refused), [404, 'resource_missing', 'hold_id']);
    const { message } = refused.json.error as { message: string };
    assert.match(message, /is in live\/1, which is closed.*ask the gate about the act again$/);
    assert.ok(message.includes(`/r/${String(held.hold_id)}`), message);
    assert.equal(running.gateway.logs.live.size(), size);
    const shown = await get(path);
    assert.deepEqual([shown.state, shown.closed_log], ['held', 'live/1']);
    assert.equal(shown.receipt.disclosures.preimage.value.agent_id, HELD.agent_id);
    const strange = await running.get(path, { key: other });
    assert.deepEqual(problem(strange), [403, 'tenant_forbidden', 'hold_id']);
  });

  it('shows how a hold was resolved before the log was closed', async () => {
    const path = `${GATE}/holds/${String(released.hold_id)}`;
    const { state, closed_log, outcome } = await get(path);
    assert.deepEqual([state, closed_log, outcome], ['released', undefined, 'PERMIT']);
    const again = await running.post(path, RELEASE, { key });
    assert.deepEqual(problem(again), [409, 'hold_resolved', 'hold_id']);
  });

  it('permits and holds again once the policy is put again', async () => {
    assert.equal((await post(`${GATE}/policy`, POLICY)).policy_version, 1);
    assert.equal('closed_log' in (await get(`${GATE}/policy`)), false);
    assert.equal((await post(GATE, PAY)).outcome, 'PERMIT');
    const again = await post(GATE, { ...HELD, timestamp_ms: held.preimage.timestamp_ms });
    assert.equal(again.outcome, 'HOLD');
    const ended = await post(`${GATE}/holds/${String(again.hold_id)}`, RELEASE);
    assert.equal(ended.outcome, 'PERMIT');
  });
});
