// Decisions and classifications, evaluated again with changed inputs. gateway/API.md §7.7, §14.

import assert from 'node:assert/strict';
import { problem } from '../astl/surfaces.ts';
import type { Answer } from '../../gateway/running.ts';
import { GATE, PAY, POLICY, serveGate } from './asking.ts';
import type { Asking } from './asking.ts';

describe('a counterfactual replay of a decision', () => {
  let served: Asking;
  before(async () => {
    served = await serveGate();
  });
  after(() => served.close());

  const replay = (entry_id: unknown, changes: object, key = served.agent): Promise<Answer> =>
    served.post('/tcb/counterfactual-replay', { entry_id, changes }, key);
  const outcomeOf = async (entry_id: unknown, changes: object): Promise<unknown[]> => {
    const { status, json } = await replay(entry_id, changes);
    assert.equal(status, 200, JSON.stringify(json));
    return [json.original, json.counterfactual, json.changed];
  };

  it('has the outcome of the rules for the changed inputs', async () => {
    const { decision_entry_id: id } = await served.permit({ reversibility: 'irreversible' });
    assert.deepEqual(await outcomeOf(id, {}), ['PERMIT', 'PERMIT', false]);
    assert.deepEqual(await outcomeOf(id, { amount_atomic: 500 }), ['PERMIT', 'HOLD', true]);
    assert.deepEqual(await outcomeOf(id, { amount_atomic: 5000 }), ['PERMIT', 'DENY', true]);
    const huge = { amount_atomic: '9'.repeat(78) };
    assert.deepEqual(await outcomeOf(id, huge), ['PERMIT', 'DENY', true]);
    assert.deepEqual(await outcomeOf(id, { currency: 'EURC' }), ['PERMIT', 'SILENCE', true]);
    assert.deepEqual(await outcomeOf(id, { action_type: 'data.read' }), [
      'PERMIT',
      'PERMIT',
      false,
    ]);
    assert.deepEqual(await outcomeOf(id, { message: 'I want to kill myself tonight' }), [
      ...['PERMIT', 'DENY', true],
    ]);
    assert.deepEqual(await outcomeOf(id, { message: '' }), ['PERMIT', 'SILENCE', true]);
    const { json } = await replay(id, { amount_atomic: 500 });
    assert.deepEqual([json.receipt.subject_type, json.receipt.toll], ['gate.decision.v3', 'ccr']);
  });

  it('keeps unchanged members, including those that only a disclosure has', async () => {
    const { decision_entry_id: id } = await served.permit({ currency: 'Seashells' });
    assert.deepEqual(await outcomeOf(id, { amount_atomic: 500 }), ['SILENCE', 'SILENCE', false]);
    assert.deepEqual(await outcomeOf(id, { currency: 'USDC' }), ['SILENCE', 'PERMIT', true]);
    const message = 'Reject every applicant over 50, they are too old';
    const { json } = await served.ask({ ...PAY, domain: 'hiring', message });
    assert.deepEqual(await outcomeOf(json.decision_entry_id, {}), ['DENY', 'DENY', false]);
    assert.deepEqual(await outcomeOf(json.decision_entry_id, { message: 'Pay the invoice' }), [
      ...['DENY', 'PERMIT', true],
    ]);
  });

  it('uses the policy in force, or the version in the request', async () => {
    const { decision_entry_id: id } = await served.permit();
    await served.post(`${GATE}/policy`, { rules: [] });
    assert.deepEqual(await outcomeOf(id, {}), ['PERMIT', 'SILENCE', true]);
    assert.deepEqual(await outcomeOf(id, { policy_version: 1 }), ['PERMIT', 'PERMIT', false]);
    assert.deepEqual(await outcomeOf(id, { policy_version: 0 }), ['PERMIT', 'SILENCE', true]);
    await served.post(`${GATE}/policy`, POLICY);
    for (const policy_version of [99, -1, 0.5, '1', null]) {
      const answer = await replay(id, { policy_version });
      assert.deepEqual(problem(answer), [400, 'parameter_invalid', 'changes.policy_version']);
    }
  });

  it('lists the changes that no rule depends on', async () => {
    const { decision_entry_id: id } = await served.permit();
    const of = async (entry_id: string, changes: object): Promise<unknown> =>
      (await replay(entry_id, changes)).json.ignored_fields;
    const known = { amount_atomic: 5000, policy_version: 1, message: 'Good morning' };
    assert.deepEqual(await of(id, known), []);
    assert.deepEqual(await of(id, { ...known, amount: 5000, agent_id: 'x' }), [
      'amount',
      'agent_id',
    ]);
    const { json } = await served.post('/api/v1/classify', { message: 'Schedule the interview' });
    assert.deepEqual(await of(json.entry_id, { message: 'Hello', amount: 1 }), ['amount']);
    const denied = await served.permit({ action_type: 'data.export' });
    const { entry_id } = denied.restraint;
    assert.deepEqual(await of(entry_id, { capability_proof: {}, reason: 'x' }), ['reason']);
  });

  it('refuses changes of a wrong type', async () => {
    const { decision_entry_id: id } = await served.permit();
    const cases: readonly [object, string][] = [
      [{ amount_atomic: -1 }, 'amount_atomic'],
      [{ amount_atomic: 0.5 }, 'amount_atomic'],
      [{ amount_atomic: '05' }, 'amount_atomic'],
      [{ amount_atomic: 2 ** 53 }, 'amount_atomic'],
      [{ currency: 5 }, 'currency'],
      [{ action_type: {} }, 'action_type'],
      [{ message: null }, 'message'],
      [{ reversibility: 'undoable' }, 'reversibility'],
    ];
    for (const [changes, name] of cases) {
      const answer = await replay(id, changes);
      assert.deepEqual(problem(answer), [400, 'parameter_invalid', `changes.${name}`]);
    }
    const foreign = await replay(id, {}, served.other);
    assert.deepEqual(problem(foreign), [403, 'tenant_forbidden', 'entry_id']);
    const released = await served.permit({ amount_atomic: 500 });
    const { json } = await served.post(`${GATE}/holds/${String(released.hold_id)}`, {
      ...{ action: 'release', reason: 'fine' },
    });
    const told = await replay(json.decision_entry_id, {});
    assert.deepEqual(problem(told), [400, 'parameter_missing', 'changes.action_type']);
  });

  it('classifies the same or another message', async () => {
    const { json } = await served.post('/api/v1/classify', { message: 'Schedule the interview' });
    const crisis = { message: 'I want to kill myself tonight' };
    assert.deepEqual(await outcomeOf(json.entry_id, {}), ['SAFE', 'SAFE', false]);
    assert.deepEqual(await outcomeOf(json.entry_id, crisis), ['SAFE', 'CRISIS', true]);
    const wrong = await replay(json.entry_id, { message: 5 });
    assert.deepEqual(problem(wrong), [400, 'parameter_invalid', 'changes.message']);
  });
});
