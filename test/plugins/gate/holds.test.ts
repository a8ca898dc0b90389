// Holds: a human releases or refuses each one once; a release issues a permit. gateway/API.md §8.1, §14.

import assert from 'node:assert/strict';
import { problem } from '../astl/surfaces.ts';
import type { Answer } from '../../gateway/running.ts';
import { commandVerbs } from '../../../gateway/host/commands.ts';
import { GATE, PAY, POLICY, serveGate } from './asking.ts';
import type { Asking } from './asking.ts';

const LARGE = { ...PAY, amount_atomic: 500 };
const RELEASE = { action: 'release', reason: 'zebra approves' };

describe('a hold', () => {
  let served: Asking;
  before(async () => {
    served = await serveGate();
  });
  after(() => served.close());

  const resolve = (hold_id: string, body: object = RELEASE, key?: string): Promise<Answer> =>
    served.post(`${GATE}/holds/${hold_id}`, body, key);
  const read = (hold_id: string, key = served.agent): Promise<Answer> =>
    served.running.get(`${GATE}/holds/${hold_id}`, { key });
  const held = async (body: object = {}): Promise<Answer['json']> =>
    (await served.ask({ ...LARGE, ...body })).json;

  it('is released with a permit for the held act only', async () => {
    const { hold_id, action_ref, receipt, preimage } = await held({ session_id: 'hold-1' });
    const { status, json } = await resolve(hold_id);
    assert.equal(status, 200);
    assert.deepEqual(
      [json.state, json.outcome, json.hold_id, json.action_ref, json.reasons],
      ['released', 'PERMIT', hold_id, action_ref, ['hold_released']],
    );
    const decision = json.receipt;
    assert.deepEqual(
      [decision.basis, decision.amount_atomic, decision.currency, decision.session_ref],
      ['release', 500, 'USDC', receipt.session_ref],
    );
    assert.equal(decision.timestamp_ms, receipt.timestamp_ms);
    assert.deepEqual([decision.toll, json.resolution_receipt.toll], [undefined, undefined]);
    assert.equal(json.resolution_receipt.disclosures.reason.value, RELEASE.reason);
    assert.equal(json.resolution_entry_id, json.resolution_receipt.entry_id);
    const used = await served.post(`${GATE}/permits/use`, { ...preimage, receipt: decision });
    assert.equal(used.status, 200);
  });

  it('is shown to its tenant before and after it is resolved', async () => {
    const { hold_id, preimage } = await held();
    const before = (await read(hold_id)).json;
    assert.deepEqual([before.state, before.permit], ['held', undefined]);
    const open = await served.running.get(`${GATE}/holds?limit=100`, { key: served.agent });
    const waiting = open.json.data.find((one: { entry_id: string }) => one.entry_id === hold_id);
    for (const receipt of [waiting, before.receipt]) {
      const { agent_id, action_type } = receipt.disclosures.preimage.value;
      assert.deepEqual([agent_id, action_type], [preimage.agent_id, preimage.action_type]);
    }
    const released = (await resolve(hold_id)).json;
    const after = (await read(hold_id)).json;
    assert.deepEqual(
      [after.state, after.outcome, after.permit],
      [...['released', 'PERMIT', released.permit]],
    );
    assert.equal(after.decision_receipt.entry_id, released.decision_entry_id);
    const left = await served.running.get(`${GATE}/holds?limit=100`, { key: served.agent });
    assert.equal(JSON.stringify(left.json.data).includes(`"entry_id":"${String(hold_id)}"`), false);
    const foreign = await read(hold_id, served.other);
    assert.deepEqual(problem(foreign), [403, 'tenant_forbidden', 'hold_id']);
    assert.deepEqual(problem(await read('none')), [404, 'resource_missing', 'hold_id']);
    const live = await read(hold_id, served.running.live);
    assert.deepEqual(problem(live), [404, 'resource_missing', 'hold_id']);
  });

  it('is listed in pages while it is open', async () => {
    for (let i = 0; i < 3; i++) await held();
    const pages: string[] = [];
    for (let cursor = ''; ;) {
      const { json } = await served.running.get(`${GATE}/holds?limit=1${cursor}`, {
        key: served.agent,
      });
      pages.push(...json.data.map(({ entry_id }: { entry_id: string }) => entry_id));
      if (json.has_more === false) break;
      cursor = `&cursor=${String(json.next_cursor)}`;
    }
    const { json } = await served.running.get(`${GATE}/holds?limit=100`, { key: served.agent });
    assert.ok(pages.length >= 3);
    assert.deepEqual(
      pages,
      json.data.map(({ entry_id }: { entry_id: string }) => entry_id),
    );
  });

  it('is refused with a denial and a restraint', async () => {
    const session_id = 'hold-refused';
    const { hold_id } = await held({ session_id });
    const { json } = await resolve(hold_id, { action: 'refuse', reason: 'zebra says no' });
    assert.deepEqual(
      [json.state, json.outcome, json.reasons, json.permit],
      ['refused', 'DENY', ['hold_refused'], undefined],
    );
    assert.deepEqual(
      [json.restraint.deontic_modality, json.restraint.decision_id],
      ['FORBIDDEN', json.decision_entry_id],
    );
    const payment = { payment_hash: 'f'.repeat(64), session_id };
    const { json: bound } = await served.post('/tcb/bind-payment', payment);
    assert.deepEqual(
      [bound.decision_entry_id, bound.decision_outcome],
      [json.decision_entry_id, 'DENY'],
    );
  });

  it('is resolved once, also under concurrent requests', async () => {
    const { hold_id } = await held();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        resolve(hold_id, { action: i % 2 === 0 ? 'release' : 'refuse', reason: String(i) }),
      ),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      assert.deepEqual(problem(answer), [409, 'hold_resolved', 'hold_id']);
    }
    assert.deepEqual(problem(await resolve(hold_id)), [409, 'hold_resolved', 'hold_id']);
  });

  it('can be resolved by an operator of its tenant, with a reason', async () => {
    const { hold_id } = await held();
    const agent = await resolve(hold_id, RELEASE, served.agent);
    assert.deepEqual([agent.status, agent.json.error.code], [403, 'role_forbidden']);
    const rival = await served.running.gateway.tenants.issue({
      ...{ tenant: 'rival', kind: 'sandbox', role: 'operator' },
    });
    const foreign = await resolve(hold_id, RELEASE, rival.key);
    assert.deepEqual(problem(foreign), [403, 'tenant_forbidden', 'hold_id']);
    assert.deepEqual(problem(await resolve('none')), [404, 'resource_missing', 'hold_id']);
    const { json: permitted } = await served.ask(PAY);
    const unheld = await resolve(permitted.decision_entry_id);
    assert.deepEqual(problem(unheld), [404, 'resource_missing', 'hold_id']);
    const cases: readonly [object, string][] = [
      [{ reason: 'x' }, 'action'],
      [{ action: 'release' }, 'reason'],
      [{ action: 'release', reason: '' }, 'reason'],
      [{ action: 'RELEASE', reason: 'x' }, 'action'],
      [{ action: 'release', reason: 5 }, 'reason'],
    ];
    for (const [body, param] of cases) {
      const { status, json } = await resolve(hold_id, body);
      assert.deepEqual([status, json.error.param], [400, param]);
    }
    assert.equal((await resolve(hold_id)).status, 200);
  });

  it('is returned for a repeated act, then its permit; a different act is a new decision', async () => {
    const first = await held();
    const act = { ...LARGE, ...first.preimage };
    const size = served.log().size();
    const again = (await served.ask(act)).json;
    assert.equal(again.hold_id, first.hold_id, 'a repeated act returns the same hold');
    assert.equal(again.restraint_receipt.entry_id, first.restraint_receipt.entry_id);
    const released = (await resolve(first.hold_id)).json;
    const got = (await served.ask(act)).json;
    assert.deepEqual([got.outcome, got.permit], ['PERMIT', released.permit]);
    assert.deepEqual(got.preimage, first.preimage);
    const others = [{ amount_atomic: 501 }, { reversibility: 'reversible' }, { session_id: 's' }];
    for (const other of others) {
      const { outcome, hold_id } = (await served.ask({ ...act, ...other })).json;
      assert.equal(outcome, 'HOLD', 'the release covers the held act only');
      assert.notEqual(hold_id, first.hold_id);
    }
    const decided = Array.from({ length: served.log().size() - size }, (_, i) =>
      String(served.log().entry(size + i)),
    ).filter((text) => text.includes('"type":"gate.decision.v3"'));
    assert.equal(decided.length, 4, 'the release and the three others');
  });

  it('is made anew for the same act once the permit is used', async () => {
    const first = await held();
    const act = { ...LARGE, ...first.preimage };
    const { receipt } = (await resolve(first.hold_id)).json;
    const used = await served.post(`${GATE}/permits/use`, { ...first.preimage, receipt });
    assert.equal(used.status, 200);
    const anew = (await served.ask(act)).json;
    assert.equal(anew.outcome, 'HOLD');
    assert.notEqual(anew.hold_id, first.hold_id);
    const refused = await resolve(anew.hold_id, { action: 'refuse', reason: 'no' });
    assert.equal(refused.status, 200);
    const third = (await served.ask(act)).json;
    assert.deepEqual(
      [third.outcome, third.hold_id, third.decision_entry_id],
      ['DENY', anew.hold_id, refused.json.decision_entry_id],
      'for 900 seconds the refusal is the answer',
    );
    const other = (await served.ask({ ...act, amount_atomic: 501 })).json;
    assert.equal(other.outcome, 'HOLD', 'other inputs are a different question');
    served.running.clock.pass(901_000);
    const fourth = (await served.ask(act)).json;
    assert.equal(fourth.outcome, 'HOLD', 'the refusal applies no longer');
    assert.notEqual(fourth.hold_id, anew.hold_id);
  });

  it('shows its expiry, and how it was resolved', async () => {
    const { hold_id, expires_at, receipt } = await held();
    const expires_ms = (receipt.issued_at_ms as number) + 7 * 86_400_000;
    assert.equal(expires_at, new Date(expires_ms).toISOString());
    const before = (await read(hold_id)).json;
    assert.deepEqual([before.expires_at, before.resolution], [expires_at, null]);
    const refused = (await resolve(hold_id, { action: 'refuse', reason: 'no' })).json;
    const { resolution } = (await read(hold_id)).json;
    assert.deepEqual(
      [resolution.action, resolution.entry_id],
      ['refuse', refused.resolution_entry_id],
    );
  });

  it('is refused by an entry if no human decides within hold_ttl_s of its policy', async () => {
    const policy = await served.post(`${GATE}/policy`, { ...POLICY, hold_ttl_s: 3600 });
    assert.equal(policy.status, 200, policy.text);
    const short = await held();
    const put = await served.post(`${GATE}/policy`, POLICY);
    assert.equal(put.status, 200);
    const long = await held();
    const expire = commandVerbs(served.running.gateway)['gate expire'];
    await expire?.({});
    assert.equal((await read(short.hold_id)).json.state, 'held', 'the hold has not expired yet');
    served.running.clock.pass(3_600_001);
    const hold = `"hold_id":"${String(short.hold_id)}"`;
    assert.deepEqual(problem(await resolve(short.hold_id)), [409, 'hold_resolved', 'hold_id']);
    assert.deepEqual(await expire?.({}), { expired: { live: 0, sandbox: 1 } });
    const ended = (await read(short.hold_id)).json;
    assert.deepEqual(
      [ended.state, ended.outcome, ended.resolution.action],
      ['refused', 'DENY', 'expire'],
    );
    const { decision_receipt } = ended;
    assert.deepEqual(decision_receipt.reasons, ['hold_expired']);
    assert.equal(decision_receipt.tenant_ref, short.receipt.tenant_ref);
    assert.equal((await read(long.hold_id)).json.state, 'held', 'its policy allows seven days');
    assert.deepEqual(await expire?.({}), { expired: { live: 0, sandbox: 0 } }, 'once');
    const resolutions = Array.from({ length: served.log().size() }, (_, index) =>
      String(served.log().entry(index)),
    ).filter((text) => text.includes('"type":"gate.hold_resolution.') && text.includes(hold));
    assert.equal(resolutions.length, 1);
  });

  it('is found by its id only, if the act had a message', async () => {
    const message = 'Pay the invoice of May';
    const first = await held({ message });
    assert.equal(first.outcome, 'HOLD');
    const again = await held({ ...first.preimage, message });
    assert.notEqual(
      again.hold_id,
      first.hold_id,
      'the log has only a commitment to the message, which cannot be compared',
    );
    await resolve(first.hold_id);
    assert.equal((await read(first.hold_id)).json.state, 'released');
  });
});
