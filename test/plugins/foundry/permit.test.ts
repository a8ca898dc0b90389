// A trigger that fires with the action restraint_permit: the permit is in the log with the settlement or not at all, its
// holder uses it once, and the policy of the tenant still decides what may be permitted. gateway/API.md §8.1, §10.6.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LOG_KINDS } from '../../../log/index.ts';
import { fsck } from '../../../log/operate.ts';
import { trustFromKit } from '../../../log/verify.ts';
import { checkDocument } from '../../../plugins/verifiers.ts';
import { broughtTypes } from '../../../tools/brought-types.ts';
import { ok, run } from '../../gateway/running.ts';
import type { Answer, Running } from '../../gateway/running.ts';
import { actlog } from '../../support/actlog.ts';
import type { Body } from '../../support/body.ts';
import { recognised } from '../../support/recognised.ts';
import { problem } from '../astl/surfaces.ts';
import { GATE, POLICY } from '../gate/asking.ts';
import { succeeded } from '../succeeded.ts';

const READ = { action_type: 'secret.read', agent_id: 'agent:reader' };
const LARGE = {
  ...{ action_type: 'payment.release', agent_id: 'agent:payer' },
  ...{ amount_atomic: 500, currency: 'USDC' },
};

describe('a permit of a trigger', function () {
  this.timeout(120_000);
  let running: Running;
  let key: string;
  let agent: string;
  let rival: string;

  const post = (path: string, body: object, by = key): Promise<Answer> =>
    running.post(path, body, { key: by });
  const armed = async (body: object = {}): Promise<string> => {
    const template = { template_id: 'bind_gate_hold', enabled_exposure_usd: '100', ...body };
    return ok(await post('/signal/trigger/publish', template)).trigger_id as string;
  };
  const fire = (trigger_id: string, more: object = {}, by = key): Promise<Answer> => {
    const reading = { metric: 'bind_hold', value: 1 };
    const body = { trigger_id, reading, action: 'restraint_permit', ...more };
    return post('/api/v1/foundry/trigger/fire', body, by);
  };
  /** The permit of a trigger that fires for this act. */
  const given = async (act: object, publication: object = {}, more: object = {}): Promise<Body> =>
    ok(await fire(await armed(publication), { permit: act, ...more }));
  const use = ({ preimage, permit }: Body, changed: object = {}, by = agent): Promise<Answer> => {
    const { permit_id: receipt, use_secret } = permit;
    return post(`${GATE}/permits/use`, { ...preimage, receipt, use_secret, ...changed }, by);
  };
  const size = (): number => running.gateway.logs.live.size();
  /** The error of a refused call; asserts that nothing was appended and that the trigger is still ARMED. */
  const refused = async (
    trigger_id: string,
    more: object,
    by = key,
  ): Promise<readonly unknown[]> => {
    const before = size();
    const answer = await fire(trigger_id, more, by);
    const statements = Array.from({ length: size() - before }, (_, i) =>
      String(running.gateway.logs.live.entry(before + i)),
    );
    const own = statements.filter((text) => text.includes('"tenant_ref"'));
    assert.deepEqual(own, [], 'no entry of a tenant is appended');
    const other = ok(await fire(trigger_id, { action: 'notify_broker' }));
    assert.equal(other.settlement.effect, 'notified', 'the trigger was ARMED');
    return problem(answer);
  };

  before(async () => {
    running = await run();
    key = running.live;
    const { tenants } = running.gateway;
    const [first] = tenants.list();
    agent = (await tenants.issue({ tenant: first?.tenant ?? '', kind: 'live' })).key;
    rival = (await tenants.issue({ tenant: 'rival', kind: 'live' })).key;
    ok(await post(`${GATE}/policy`, POLICY));
  });
  after(() => running.close());

  it('is appended before the settlement that names it, in one group', async () => {
    const before = size();
    const trigger_id = await armed();
    const answer = ok(await fire(trigger_id, { permit: READ }));
    const { settlement, permit, permit_receipt: receipt, preimage } = answer;
    assert.deepEqual(
      [settlement.action, settlement.effect, settlement.effect_entry_id],
      ['restraint_permit', 'permit_given', permit.permit_id],
    );
    assert.deepEqual(
      [answer.receipt.type, answer.receipt.index],
      ['foundry.settlement.v3', Number(receipt.index) + 1],
    );
    assert.ok(receipt.index > before);
    const { type, outcome, basis, reasons, policy_version, toll } = receipt;
    assert.deepEqual([type, outcome, basis], ['gate.decision.v3', 'PERMIT', 'trigger']);
    assert.deepEqual([reasons, policy_version, toll], [['trigger_fired'], 1, 'execute_gate']);
    assert.deepEqual([receipt.trigger_id, receipt.entry_id], [trigger_id, permit.permit_id]);
    assert.deepEqual([permit.action_ref, permit.max_age_s], [receipt.action_ref, 900]);
    assert.deepEqual({ ...preimage, timestamp_ms: 0 }, { ...READ, scope: 'gate', timestamp_ms: 0 });
    assert.match(permit.use_secret.value, /^[\w-]{32}$/);
    const log = running.gateway.logs.live;
    const { map_head_ms } = await log.whenPublished(log.size());
    const chain = await log.chain({ key: ['trigger', trigger_id], from_ms: 0, to_ms: map_head_ms });
    assert.deepEqual(
      chain.map(({ index }) => index).slice(1),
      [receipt.index, answer.receipt.index],
      'both are on the chain of the trigger',
    );
  });

  it('is valid as a receipt, and shows its secret to its tenant only', async () => {
    const { permit } = await given(READ);
    const path = `/receipt/lookup?entry_id=${String(permit.permit_id)}`;
    const { json } = await running.get(path, { headers: { Prefer: 'wait=10' } });
    assert.equal(JSON.stringify(json).includes(permit.use_secret.value), false);
    const kit = ok(await running.get('/export/offline-verify-kit.json'));
    const trust = trustFromKit(kit, running.gateway.logs.live.origin);
    const finding = await checkDocument(recognised(JSON.stringify(json.receipt)), trust);
    assert.equal(finding.valid, true, finding.summary);
    const feed = await running.get('/signal/trigger/feed.json');
    assert.ok(feed.text.includes(permit.permit_id));
    assert.equal(feed.text.includes(permit.use_secret.value), false);
  });

  it('is used once by its holder, and not with a wrong secret', async () => {
    const answer = await given(READ);
    const { salt, value } = answer.permit.use_secret;
    for (const wrong of [undefined, { salt, value: 'a guess' }, { salt: '0'.repeat(32), value }]) {
      const denied = await use(answer, { use_secret: wrong });
      assert.deepEqual(problem(denied), [403, 'permit_secret_invalid', 'use_secret']);
    }
    const other = await use(answer, { agent_id: 'agent:other' });
    assert.deepEqual(
      problem(other),
      [400, 'parameter_invalid', 'receipt'],
      'a permit of another act',
    );
    const used = ok(await use(answer));
    assert.deepEqual(
      [used.permit_id, used.action_ref],
      [answer.permit.permit_id, answer.permit.action_ref],
    );
    assert.deepEqual(problem(await use(answer)), [409, 'permit_used', 'receipt']);
  });

  it('is the same permit when the trigger is fired again, by any key of the tenant', async () => {
    const trigger_id = await armed();
    const more = { permit: READ };
    const answers = await Promise.all(Array.from({ length: 8 }, () => fire(trigger_id, more)));
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1, answers[1]?.text);
    const again = await fire(trigger_id, {}, agent);
    assert.equal(again.text, answers[0]?.text);
    const keyed = { key, headers: { 'Idempotency-Key': 'a-permit' } };
    const body = { trigger_id, reading: { metric: 'bind_hold', value: 1 } };
    const [first, second] = [
      await running.post('/api/v1/foundry/trigger/fire', body, keyed),
      await running.post('/api/v1/foundry/trigger/fire', body, keyed),
    ];
    assert.deepEqual([first.text, second.text], [again.text, again.text]);
    assert.equal(ok(await use(again.json)).permit_id, again.json.permit.permit_id);
  });

  it('is the receipt that the policy requires for an act, and the answer for an act that it holds', async () => {
    const read = await given(READ);
    const asked = { ...READ, ...read.preimage };
    const unshown = await post(GATE, asked, agent);
    assert.deepEqual(problem(unshown), [428, 'receipt_required', 'receipt']);
    const shown = { receipt: read.permit.permit_id, use_secret: read.permit.use_secret };
    const permitted = ok(await post(`${GATE}/bind`, { ...asked, ...shown }, agent));
    assert.deepEqual(
      [permitted.decision, permitted.receipt.receipt_permit_id],
      ['ALLOW', read.permit.permit_id],
    );
    assert.deepEqual(problem(await use(read)), [409, 'permit_used', 'receipt']);

    const paid = await given(LARGE);
    const same = { ...LARGE, ...paid.preimage };
    const held = ok(await post(GATE, same, agent));
    assert.deepEqual([held.outcome, held.permit], ['PERMIT', paid.permit]);
    const larger = ok(await post(GATE, { ...same, amount_atomic: 501 }, agent));
    assert.equal(larger.outcome, 'HOLD', 'a permit of other members');
    assert.equal(ok(await use(paid)).permit_id, paid.permit.permit_id);
    assert.equal(ok(await post(GATE, same, agent)).outcome, 'HOLD', 'the permit is used');
    const small = await given({ ...LARGE, amount_atomic: 50 });
    const asking = { ...LARGE, amount_atomic: 50, ...small.preimage };
    assert.deepEqual(ok(await post(GATE, asking, agent)).permit, small.permit);
  });

  it('is a decision of the session and on the surface that the call names', async () => {
    const entity = 'did:example:permitted';
    ok(await post('/api/v1/astl/publish', { entity, surfaces: ['policy_bind'] }));
    const scope = { entity, surface: 'policy_bind' };
    const answer = await given(READ, { bind_hold: scope }, { session_id: 'permitted' });
    const { permit_receipt: receipt } = answer;
    assert.deepEqual(
      [receipt.entity, receipt.surface, receipt.surface_declared],
      [entity, 'policy_bind', true],
    );
    const bound = ok(
      await post('/api/v1/bind-payment', { payment_hash: 'e'.repeat(64), session_id: 'permitted' }),
    );
    assert.equal(bound.settlement.decision_entry_id, receipt.entry_id);
    const outside = { ...READ, entity: null };
    assert.deepEqual(await refused(await armed({ bind_hold: scope }), { permit: outside }), [
      ...[400, 'parameter_invalid', 'permit.entity'],
    ]);
    const elsewhere = { ...READ, entity, surface: 'quote' };
    assert.deepEqual(await refused(await armed({ bind_hold: scope }), { permit: elsewhere }), [
      ...[400, 'parameter_invalid', 'permit.surface'],
    ]);
  });

  it('appends nothing if it cannot be given, and leaves the trigger ARMED', async () => {
    const of = async (more: object, by = key) => refused(await armed(), more, by);
    const notGiven = [409, 'permit_not_given', 'permit'];
    const denied = { ...LARGE, amount_atomic: 5000 };
    assert.deepEqual(await of({ permit: denied }), notGiven, 'the policy denies it');
    const uncovered = { action_type: 'wire.send', agent_id: 'agent:payer' };
    assert.deepEqual(await of({ permit: uncovered }), notGiven, 'no rule covers it');
    const { preimage } = ok(await post(GATE, LARGE, agent));
    assert.deepEqual(await of({ permit: { ...LARGE, ...preimage } }), notGiven, 'it is held');
    const refusal = ok(await post(GATE, LARGE, agent));
    const hold = `${GATE}/holds/${String(refusal.hold_id)}`;
    ok(await post(hold, { action: 'refuse', reason: 'no invoice' }));
    const again = { permit: { ...LARGE, ...refusal.preimage } };
    assert.deepEqual(await of(again), notGiven, 'a human refused it');

    const standing = await given(LARGE);
    const taken = { permit: { ...LARGE, ...standing.preimage } };
    assert.deepEqual(await of(taken), [409, 'permit_exists', 'permit']);
    const exists = await fire(await armed(), taken);
    assert.equal(
      exists.json.permit_id,
      standing.permit.permit_id,
      'the answer names the existing permit',
    );
    assert.equal(
      ok(await use(standing)).permit_id,
      standing.permit.permit_id,
      'the existing permit remains usable',
    );
    const next = await given(taken.permit);
    assert.equal(next.permit.action_ref, standing.permit.action_ref, 'after its use');

    assert.deepEqual(await of({}), [400, 'parameter_missing', 'permit']);
    assert.deepEqual(await of({ permit: { ...READ, agent_id: '' } }), [
      ...[400, 'parameter_invalid', 'permit.agent_id'],
    ]);
    assert.deepEqual(await of({ permit: { ...READ, message: 'hello' } }), [
      ...[400, 'parameter_unknown', 'permit.message'],
    ]);
    assert.deepEqual(await of({ permit: READ }, agent), [403, 'role_forbidden', undefined]);
    const plain = await fire(await armed(), { permit: READ, action: 'bind_hold' });
    assert.deepEqual(problem(plain), [400, 'parameter_invalid', 'permit']);
    const foreign = await fire(await armed(), { permit: READ }, rival);
    assert.deepEqual(problem(foreign), [403, 'tenant_forbidden', 'trigger_id']);
  });

  it('is not issued without a policy', async () => {
    const issued = await running.gateway.tenants.issue({
      ...{ tenant: 'rival', kind: 'live', role: 'operator' },
    });
    const by = issued.key;
    const published = await post('/signal/trigger/publish', { template_id: 'bind_gate_hold' }, by);
    const { trigger_id } = ok(published);
    const answer = await fire(trigger_id, { permit: READ }, by);
    assert.deepEqual(problem(answer), [409, 'permit_not_given', 'permit']);
    assert.deepEqual([answer.json.outcome, answer.json.reasons], ['SILENCE', ['no_policy']]);
  });

  it('is given once for an act if several triggers fire concurrently', async () => {
    const act = { ...LARGE, timestamp_ms: Date.now() };
    const triggers = await Promise.all(Array.from({ length: 8 }, () => armed()));
    const answers = await Promise.all(triggers.map((id) => fire(id, { permit: act })));
    const won = answers.filter(({ status }) => status === 200);
    assert.equal(won.length, 1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      assert.deepEqual(problem(answer), [409, 'permit_exists', 'permit']);
    }
  });

  it('is decided by the policy that is in force at its entry', async () => {
    for (let round = 0; round < 5; round++) {
      const trigger_id = await armed();
      const rules = round % 2 === 0 ? [] : POLICY.rules;
      const policy = { ...POLICY, rules };
      const [put, answer] = await Promise.all([
        post(`${GATE}/policy`, policy),
        fire(trigger_id, { permit: LARGE }),
      ]);
      const { receipt } = ok(put);
      if (answer.status === 409) {
        assert.deepEqual(problem(answer), [409, 'permit_not_given', 'permit']);
        continue;
      }
      const { index, policy_version } = ok(answer).permit_receipt;
      const isEarlier = index < receipt.index;
      assert.equal(policy_version < receipt.policy_version, isEarlier);
      assert.equal(policy_version % 2, 1, 'a policy with rules');
    }
    ok(await post(`${GATE}/policy`, POLICY));
  });

  it('is an input of what a counterfactual replays', async () => {
    const { permit } = await given(LARGE);
    const entry_id = permit.permit_id as string;
    const outcome = async (changes: object): Promise<unknown[]> => {
      const { json } = await post('/tcb/counterfactual-replay', { entry_id, changes });
      return [json.original, json.counterfactual, json.changed];
    };
    assert.deepEqual(await outcome({}), ['PERMIT', 'PERMIT', false]);
    assert.deepEqual(await outcome({ amount_atomic: 5000 }), ['PERMIT', 'DENY', true]);
    assert.deepEqual(await outcome({ action_type: 'wire.send' }), ['PERMIT', 'SILENCE', true]);
  });

  it('is usable in the successor log, and monitor and fsck accept both logs', async () => {
    const trigger_id = await armed();
    const fired = ok(await fire(trigger_id, { permit: LARGE }));
    running = await succeeded(running);
    const again = ok(await fire(trigger_id, {}, agent));
    assert.deepEqual(
      [again.permit, again.settlement, again.preimage],
      [fired.permit, fired.settlement, fired.preimage],
    );
    const same = { ...LARGE, ...fired.preimage };
    assert.equal(ok(await post(GATE, same, agent)).permit.permit_id, fired.permit.permit_id);
    ok(await use(fired));
    assert.deepEqual(problem(await use(fired)), [409, 'permit_used', 'receipt']);
    const next = await given(READ);
    assert.equal(next.settlement.effect, 'permit_given');

    for (const kind of LOG_KINDS) {
      const log = running.gateway.logs[kind];
      await log.whenPublished(log.size() + 1);
    }
    const state = await mkdtemp(join(tmpdir(), 'actlog-permit-'));
    try {
      const monitor = await actlog(['monitor', running.url, '--state', state, '--once']);
      assert.equal(monitor.code, 0, monitor.stdout + monitor.stderr);
    } finally {
      await rm(state, { recursive: true });
    }
    await running.close(true);
    const types = await broughtTypes({ PLUGINS: [] });
    for (const number of ['1', '2']) {
      const { differences } = await fsck({ folder: join(running.data, 'live', number), types });
      assert.deepEqual(differences, [], number);
    }
  });
});
