// Obligations over HTTP: armed, evaluated, and fired once. gateway/API.md §10.6, §14.

import assert from 'node:assert/strict';
import type { Answer } from '../../gateway/running.ts';
import { problem, serveSurfaces } from '../astl/surfaces.ts';
import type { Surfaces } from '../astl/surfaces.ts';
import { readingsOf } from './readings.ts';

describe('triggers', () => {
  let served: Surfaces;
  before(async () => {
    served = await serveSurfaces();
  });
  after(() => served.close());

  const post = (path: string, body: object, key?: string): Promise<Answer> =>
    served.gateway.post(path, body, { key: key ?? served.gateway.sandbox });
  const publish = (body: object = {}): Promise<Answer> =>
    post('/signal/trigger/publish', { template_id: 'incident_sealed', ...body });
  const armed = async (body: object = {}): Promise<string> => {
    const { status, json, text } = await publish(body);
    assert.equal(status, 200, text);
    return json.trigger_id as string;
  };
  const fire = (trigger_id: string, body: object = {}, key?: string): Promise<Answer> => {
    const observed =
      'aggregate_entry_id' in body ? {} : { reading: { metric: 'incident', value: 1 } };
    return post('/api/v1/foundry/trigger/fire', { trigger_id, ...observed, ...body }, key);
  };
  const read = (value: string | number) => ({ reading: { metric: 'incident', value } });
  const aggregated = async (feed_id: string, ...values: readonly string[]): Promise<string> => {
    const body = { feed_id, readings: readingsOf(...values) };
    const { json } = await post('/api/v1/oracle/aggregate', body);
    return json.aggregate_entry_id as string;
  };
  const settlementsOf = (trigger_id: string): number => {
    const log = served.log();
    const entries = Array.from({ length: log.size() }, (_, i) => log.entry(i) ?? '');
    const own = entries.filter((text) => text.includes(trigger_id));
    return own.filter((text) => text.includes('"foundry.settlement.v3"')).length;
  };

  it('publishes a template as an armed obligation, with its terms in the entry', async () => {
    const { status, json } = await publish({ enabled_exposure_usd: '2500.5' });
    assert.equal(status, 200);
    assert.deepEqual(
      [json.ok, json.state, json.trigger_id],
      [true, 'ARMED', json.receipt.entry_id],
    );
    assert.deepEqual(json.obligation_surface.callable_actions, [
      'parametric_window',
      'regulatory_packet',
      'spoliation_pack',
    ]);
    const { exposure_ceiling_usd, fee_bps, regulatory_hooks } = json.obligation_surface;
    assert.deepEqual([exposure_ceiling_usd, fee_bps], [10_000_000, 15]);
    assert.ok(regulatory_hooks.length > 0);
    assert.deepEqual(json.condition, {
      ...{ metric: 'incident', comparator: 'gte', threshold: '1', consecutive: 1 },
    });
    const { receipt } = json;
    assert.equal(receipt.enabled_exposure_micro_usd, 2_500_500_000);
    assert.deepEqual([receipt.toll, receipt.toll_micro_usd], ['trigger_publish', 250_000]);
    const keys = receipt.links.map(({ key }: { key: readonly string[] }) => key);
    assert.deepEqual(keys, [['trigger', json.trigger_id]]);
  });

  it('refuses invalid terms', async () => {
    const invalid = (param: string) => [400, 'parameter_invalid', param];
    const of = async (body: object) => problem(await publish(body));
    assert.deepEqual(await of({ template_id: 'other' }), invalid('template_id'));
    const over = { enabled_exposure_usd: 10_000_000.01 };
    assert.deepEqual(await of(over), invalid('enabled_exposure_usd'));
    assert.deepEqual(await of({ enabled_exposure_usd: '-1' }), invalid('enabled_exposure_usd'));
    assert.deepEqual(await of({ expires_at_ms: 1 }), invalid('expires_at_ms'));
    const condition = { metric: 'm', comparator: 'gte', threshold: '1' };
    const with_ = (more: object) => of({ condition: { ...condition, ...more } });
    assert.deepEqual(await with_({ comparator: 'near' }), invalid('condition.comparator'));
    assert.deepEqual(await with_({ threshold: 'NaN' }), invalid('condition.threshold'));
    assert.deepEqual(await with_({ metric: 'free text' }), invalid('condition.metric'));
    assert.deepEqual(await with_({ consecutive: 0 }), invalid('condition.consecutive'));
  });

  it('stays armed below the threshold, and logs the evaluation', async () => {
    const trigger_id = await armed();
    const { status, json } = await fire(trigger_id, read('0.999'));
    assert.equal(status, 200);
    assert.deepEqual([json.ok, json.fired, json.state], [true, false, 'ARMED']);
    assert.deepEqual([json.evaluation.met, json.evaluation.reason], [false, 'threshold_not_met']);
    assert.equal(json.settlement, undefined);
    assert.equal(json.receipt.type, 'foundry.evaluation.v1');
    assert.equal(json.receipt.toll, undefined);
  });

  it('fires with the fee of the obligation', async () => {
    const trigger_id = await armed({ enabled_exposure_usd: 1_000_000 });
    const { json } = await fire(trigger_id, { action: 'spoliation_pack' });
    assert.deepEqual([json.fired, json.state], [true, 'FIRED']);
    const { action, fee_usd, fee_micro_usd, fee_bps, fee_source } = json.settlement;
    assert.deepEqual([action, fee_usd, fee_bps], ['spoliation_pack', '1500', 15]);
    assert.deepEqual([fee_micro_usd, fee_source], [1_500_000_000, 'obligation']);
    assert.deepEqual([json.receipt.toll, json.receipt.toll_micro_usd], ['bps_fire', 1_000_000]);
    assert.equal(json.receipt.cleared_micro_usd, undefined, 'the fee is counted once');
  });

  it('fires once under any concurrency, and replays the settlement', async () => {
    const trigger_id = await armed({ enabled_exposure_usd: '100' });
    const answers = await Promise.all(Array.from({ length: 24 }, () => fire(trigger_id)));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    const texts = new Set(answers.map(({ text }) => text));
    assert.equal(texts.size, 1, 'all answers are the same');
    assert.equal(settlementsOf(trigger_id), 1);
    assert.equal(
      (await fire(trigger_id, read(0))).text,
      [...texts][0],
      'the answer does not depend on the present value',
    );
    const other = await fire(trigger_id, { action: 'regulatory_packet' });
    assert.deepEqual(problem(other), [409, 'trigger_already_fired', 'action']);
    const more = await fire(trigger_id, { enabled_exposure_usd: '200' });
    assert.deepEqual(problem(more), [409, 'trigger_already_fired', 'enabled_exposure_usd']);
    assert.equal((await fire(trigger_id, { enabled_exposure_usd: '100.00' })).status, 200);
  });

  it('counts consecutive readings, also concurrent ones', async () => {
    const condition = { metric: 'incident', comparator: 'gt', threshold: '0', consecutive: 5 };
    const alone = await armed({ condition });
    const states: string[] = [];
    for (const value of [1, 1, 0, 1, 1, 1, 1, 1]) {
      states.push((await fire(alone, read(value))).json.state as string);
    }
    assert.deepEqual(states, [...Array<string>(7).fill('ARMED'), 'FIRED']);
    const together = await armed({ condition });
    const answers = await Promise.all(Array.from({ length: 8 }, () => fire(together)));
    const fired = answers.filter(({ json }) => json.fired === true).length;
    assert.equal(fired, 4, 'the fifth request fires, the other three get its settlement');
    assert.equal(settlementsOf(together), 1);
  });

  it('lets the window pass and the obligation expire', async () => {
    const condition = {
      ...{ metric: 'incident', comparator: 'gte', threshold: '1' },
      ...{ consecutive: 2, window_s: 600 },
    };
    const expires_at_ms = served.gateway.clock.wall() + 3_600_000;
    const trigger_id = await armed({ condition, expires_at_ms });
    const aggregate_entry_id = await aggregated('windows', '1', '1', '1');
    assert.equal((await fire(trigger_id)).json.evaluation.reason, 'consecutive_not_reached');
    await passed(601_000);
    const late = await fire(trigger_id, { aggregate_entry_id });
    assert.equal(late.json.evaluation.reason, 'outside_window');
    const again = await fire(trigger_id);
    assert.deepEqual([again.json.fired, again.json.evaluation.run_length], [false, 1]);
    await passed(3_600_000);
    const closed = await fire(trigger_id);
    assert.deepEqual(problem(closed), [409, 'trigger_window_closed', 'trigger_id']);
  });

  /** Moves the clock after everything is published, because an idle map head would be appended in between. */
  async function passed(ms: number): Promise<void> {
    await served.head();
    served.gateway.clock.pass(ms);
  }

  it('is fired only by its tenant', async () => {
    const trigger_id = await armed();
    const foreign = await fire(trigger_id, {}, served.other);
    assert.deepEqual(problem(foreign), [403, 'tenant_forbidden', 'trigger_id']);
    const live = await fire(trigger_id, {}, served.gateway.live);
    assert.deepEqual(
      problem(live),
      [404, 'resource_missing', 'trigger_id'],
      'triggers of one log are unknown in the other',
    );
    const { json } = await post(
      '/api/v1/oracle/aggregate',
      { feed_id: 'theirs', readings: readingsOf('1') },
      served.other,
    );
    const borrowed = await fire(trigger_id, { aggregate_entry_id: json.aggregate_entry_id });
    assert.deepEqual(problem(borrowed), [403, 'tenant_forbidden', 'aggregate_entry_id']);
    assert.equal(settlementsOf(trigger_id), 0);
  });

  it('refuses a request that does not fit the obligation', async () => {
    const trigger_id = await armed({ enabled_exposure_usd: 1 });
    const of = async (body: object) => problem(await fire(trigger_id, body));
    const invalid = (param: string) => [400, 'parameter_invalid', param];
    assert.deepEqual(await of({ action: 'pay' }), invalid('action'));
    const over = { enabled_exposure_usd: 10_000_001 };
    assert.deepEqual(await of(over), invalid('enabled_exposure_usd'));
    assert.deepEqual(await of({ reading: { metric: 'x', value: 1 } }), invalid('reading.metric'));
    assert.deepEqual(await of(read('one')), invalid('reading.value'));
    const neither = await post('/api/v1/foundry/trigger/fire', { trigger_id });
    assert.deepEqual(problem(neither), [400, 'parameter_missing', 'reading']);
    const aggregate_entry_id = await aggregated('both', '1');
    const both = await fire(trigger_id, { aggregate_entry_id, ...read(1) });
    assert.deepEqual(problem(both), invalid('aggregate_entry_id'));
    const none = await fire(trigger_id, { aggregate_entry_id: trigger_id });
    assert.deepEqual(problem(none), [404, 'resource_missing', 'aggregate_entry_id']);
    assert.deepEqual((await fire(aggregate_entry_id)).status, 404);
  });

  it('is not fired by a disputed value, and is fired by the resolution of the dispute', async () => {
    const trigger_id = await armed({ feed_id: 'quakes' });
    const reading = await fire(trigger_id);
    assert.deepEqual(
      problem(reading),
      [400, 'parameter_invalid', 'reading'],
      'a reading cannot replace the disputed feed',
    );
    const elsewhere = await fire(trigger_id, { aggregate_entry_id: await aggregated('x', '1') });
    assert.deepEqual(problem(elsewhere), [400, 'parameter_invalid', 'aggregate_entry_id']);
    const agreed = await aggregated('quakes', '0', '0', '0');
    const disputed = await aggregated('quakes', '1', '2', '3');
    const dispute = [409, 'oracle_disputed', 'aggregate_entry_id'];
    assert.deepEqual(problem(await fire(trigger_id, { aggregate_entry_id: disputed })), dispute);
    assert.deepEqual(problem(await fire(trigger_id, { aggregate_entry_id: agreed })), dispute);
    const few = await aggregated('quakes', '1', '1');
    assert.deepEqual(problem(await fire(trigger_id, { aggregate_entry_id: few })), dispute);
    const resolution = { aggregate_entry_id: disputed, value: '2', resolver: 'The panel' };
    assert.equal((await post('/api/v1/oracle/resolve', resolution)).status, 200);
    const { json } = await fire(trigger_id, { aggregate_entry_id: disputed });
    assert.deepEqual([json.fired, json.evaluation.value], [true, '2']);
    assert.equal(json.receipt.resolved, true);
  });

  it('counts an aggregate once, and ignores one that is older than the newest', async () => {
    const condition = { metric: 'x', comparator: 'gte', threshold: '1', consecutive: 2 };
    const trigger_id = await armed({ condition });
    const older = await aggregated('steady', '1');
    const newer = await aggregated('steady', '1');
    const first = await fire(trigger_id, { aggregate_entry_id: newer });
    assert.equal(first.json.evaluation.run_length, 1);
    assert.equal((await fire(trigger_id, { aggregate_entry_id: newer })).text, first.text);
    const back = await fire(trigger_id, { aggregate_entry_id: older });
    assert.deepEqual(problem(back), [400, 'parameter_invalid', 'aggregate_entry_id']);
    const few = await fire(trigger_id, {
      aggregate_entry_id: await aggregated('steady', '1', '1'),
    });
    assert.deepEqual([few.json.fired, few.json.evaluation.reason], [false, 'no_consensus']);
  });

  const release = (trigger_id: string, key?: string): Promise<Answer> =>
    post('/api/v1/foundry/trigger/release', { trigger_id, reason: 'reviewed' }, key);
  const bind = async (body: object = {}) => {
    const act = { action_type: 'policy.bind', agent_id: 'agent:x', ...body };
    const { json } = await post('/api/v1/execute-gate/bind', act);
    return [json.decision, ...json.reasons];
  };
  const holding = async (bind_hold?: object): Promise<string> => {
    const body = {
      template_id: 'bind_gate_hold',
      ...(bind_hold === undefined ? {} : { bind_hold }),
    };
    const trigger_id = await armed(body);
    const reading = { metric: 'bind_hold', value: 1 };
    const { json } = await fire(trigger_id, { reading });
    assert.equal(json.settlement.effect, 'bind_held');
    return trigger_id;
  };

  it('holds the binds of its tenant until it is released', async () => {
    const rule = { id: 'bind', effect: 'allow', action_types: ['policy.bind'] };
    const put = await post('/api/v1/execute-gate/policy', { rules: [rule] });
    assert.equal(put.status, 200, put.text);
    assert.deepEqual(await bind(), ['ALLOW', 'rule:bind']);
    const unfired = await armed({ template_id: 'bind_gate_hold' });
    assert.deepEqual(problem(await release(unfired)), [400, 'parameter_invalid', 'trigger_id']);
    const [one, two] = [await holding(), await holding()];
    assert.deepEqual(await bind(), ['BLOCK', 'bind_held']);
    const act = { action_type: 'policy.bind', agent_id: 'agent:x' };
    const plain = await post('/api/v1/execute-gate', act);
    assert.equal(plain.json.outcome, 'PERMIT', 'the hold applies to binds');
    const other = await post('/api/v1/execute-gate/bind', act, served.other);
    assert.ok(!other.json.reasons.includes('bind_held'), 'of another tenant');
    const foreign = await release(one, served.other);
    assert.deepEqual(problem(foreign), [403, 'tenant_forbidden', 'trigger_id']);
    const { status, json } = await release(one);
    assert.deepEqual(
      [status, json.state, json.receipt.type],
      [200, 'RELEASED', 'foundry.release.v1'],
    );
    assert.deepEqual(await bind(), ['BLOCK', 'bind_held'], 'the other hold is still in force');
    assert.equal((await release(two)).status, 200);
    assert.deepEqual(await bind(), ['ALLOW', 'rule:bind']);
    assert.deepEqual(problem(await release(one)), [409, 'trigger_released', 'trigger_id']);
    assert.equal((await fire(one)).json.settlement.effect, 'bind_held', 'the settlement remains');
    const none = await release(one.replace(/^......../, '01900000'));
    assert.deepEqual(problem(none), [404, 'resource_missing', 'trigger_id']);
  });

  it('is an input of the decision on a bind, which a counterfactual can change', async () => {
    const trigger_id = await holding();
    const act = { action_type: 'policy.bind', agent_id: 'agent:x' };
    const { json: held } = await post('/api/v1/execute-gate/bind', act);
    const { json: plain } = await post('/api/v1/execute-gate', act);
    await release(trigger_id);
    const replayed = async (entry_id: unknown, changes: object): Promise<unknown[]> => {
      const { json } = await post('/tcb/counterfactual-replay', { entry_id, changes });
      return [json.original, json.counterfactual, json.changed, json.ignored_fields];
    };
    const [id, other] = [held.decision_entry_id, plain.decision_entry_id];
    assert.deepEqual(await replayed(id, {}), ['DENY', 'DENY', false, []]);
    assert.deepEqual(await replayed(id, { amount_atomic: 1 }), ['DENY', 'DENY', false, []]);
    assert.deepEqual(await replayed(id, { bind_held: false }), ['DENY', 'PERMIT', true, []]);
    assert.deepEqual(await replayed(other, { bind_held: true }), ['PERMIT', 'DENY', true, []]);
    const entry_id = held.decision_entry_id as string;
    const wrong = await post('/tcb/counterfactual-replay', { entry_id, changes: { bind_held: 1 } });
    assert.deepEqual(problem(wrong), [400, 'parameter_invalid', 'changes.bind_held']);
  });

  it('holds only the binds that its publication names', async () => {
    const trigger_id = await holding({ surface: 'policy_bind' });
    assert.deepEqual(await bind(), ['BLOCK', 'bind_held'], 'an act that names no surface');
    const named = { entity: 'did:example:held' };
    await post('/api/v1/astl/publish', { ...named, surfaces: ['policy_bind', 'quote'] });
    const of = (surface: string) => bind({ ...named, surface });
    assert.deepEqual(await of('policy_bind'), ['BLOCK', 'bind_held']);
    assert.equal((await of('quote'))[0], 'ALLOW');
    assert.equal((await release(trigger_id)).status, 200);
    assert.equal((await of('policy_bind'))[0], 'ALLOW');
  });

  it('performs its action, or states that the action is only recorded', async () => {
    const settled = async (template_id: string, metric: string, body: object) => {
      const trigger_id = await armed({ template_id, enabled_exposure_usd: '1000' });
      const answer = await fire(trigger_id, { reading: { metric, value: 1 }, ...body });
      assert.equal(answer.status, 200, answer.text);
      assert.equal(
        (await fire(trigger_id)).text,
        answer.text,
        'firing again returns the same answer',
      );
      return answer.json.settlement;
    };
    const model = (action?: string) =>
      settled('ai_model_change', 'model_change', action === undefined ? {} : { action });
    const premium = await model();
    assert.deepEqual([premium.effect, premium.amount_micro_usd], ['amount_stated', 1_000_000_000]);
    const notice = await model('notify_underwriter');
    assert.equal(notice.effect, 'notified');
    const typeOf = async (id: string) =>
      (await served.gateway.get(`/receipt/lookup?log=sandbox&entry_id=${id}`)).json.receipt.type;
    assert.equal(await typeOf(notice.effect_entry_id), 'foundry.notice.v1');

    const incident = (body: object) => settled('incident_sealed', 'incident', body);
    const { effect, window } = await incident({});
    assert.equal(effect, 'window_stated');
    assert.equal(window.from_ms, window.to_ms, 'one observation');
    const packet = await incident({ action: 'regulatory_packet', category_id: 'justice' });
    assert.equal(packet.effect, 'pack_committed');
    assert.equal(await typeOf(packet.effect_entry_id), 'foundry.conformity.v2');
    const again = await incident({ action: 'regulatory_packet', category_id: 'justice' });
    assert.equal(again.effect_entry_id, packet.effect_entry_id, 'a pack is committed once');
    await post('/api/v1/classify', { message: 'Hello', session_id: 'sealed-1' });
    const sealed = await incident({ action: 'spoliation_pack', session_id: 'sealed-1' });
    assert.equal(sealed.effect, 'seal_made');
    const { json } = await served.gateway.get(
      `/receipt/lookup?log=sandbox&entry_id=${sealed.effect_entry_id}`,
    );
    assert.equal(json.receipt.preserved_count, 1);
    assert.equal((await incident({ action: 'spoliation_pack' })).effect, 'recorded');
  });

  it('lists armed and fired obligations, page by page, and the newest settlements', async () => {
    const trigger_id = await armed({ enabled_exposure_usd: '5' });
    const { json: fired } = await fire(trigger_id);
    const page = async (query: string): Promise<Answer['json']> =>
      (await served.gateway.get(`/signal/trigger/feed.json?log=sandbox&${query}`)).json;
    const all: { event: string; index: number; trigger_id: string }[] = [];
    for (let cursor = ''; ;) {
      const { data, has_more, next_cursor } = await page(`limit=3${cursor}`);
      all.push(...(data as typeof all));
      cursor = `&cursor=${String(next_cursor)}`;
      if (has_more === false) break;
    }
    const own = all.filter((event) => event.trigger_id === trigger_id);
    assert.deepEqual(
      own.map(({ event }) => event),
      ['trigger.armed', 'trigger.fired'],
    );
    const indexes = all.map(({ index }) => index);
    assert.deepEqual(
      indexes,
      [...new Set(indexes)].sort((a, b) => a - b),
    );
    assert.equal((await served.gateway.get('/signal/trigger/feed.json')).json.data.length, 0);
    const bad = await served.gateway.get('/signal/trigger/feed.json?cursor=zzz');
    assert.deepEqual(problem(bad), [400, 'parameter_invalid', 'cursor']);
    const catalog = await served.gateway.get('/api/v1/foundry/catalog.json', {
      key: served.gateway.sandbox,
    });
    assert.equal(catalog.json.schema, 'svc-actuation-foundry-v1');
    const [newest] = catalog.json.recent_settlements;
    assert.equal(newest.settlement_entry_id, fired.settlement.settlement_entry_id);
    assert.ok(catalog.json.recent_settlements.length <= 10);
    const open = await served.gateway.get('/api/v1/foundry/catalog.json');
    assert.deepEqual(open.json.recent_settlements, [], 'none in the live log');
  });

  it('shows the installed base to its own tenant', async () => {
    const me = await served.gateway.get('/api/v1/me', { key: served.other });
    const path = `/api/v1/foundry/installed-base/${String(me.json.tenant_id)}`;
    const base = await served.gateway.get(path, { key: served.other });
    assert.equal(base.status, 200, base.text);
    assert.equal(base.json.counts.aggregates, 1);
    assert.equal(base.json.counts.triggers_armed, 0);
    const foreign = await served.gateway.get(path, { key: served.gateway.sandbox });
    assert.deepEqual(problem(foreign), [403, 'tenant_forbidden', 'tenant_id']);
    assert.equal((await served.gateway.get(path)).status, 401);
  });
});
