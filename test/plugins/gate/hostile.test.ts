// Hostile bodies of requests to the gate: members that are missing, of a wrong type, too long or in unusual Unicode.
// Nothing that callers wrote enters the log. gateway/API.md §1.2, §1.3, §4.1.

import assert from 'node:assert/strict';
import { problem } from '../astl/surfaces.ts';
import { GATE, PAY, serveGate } from './asking.ts';
import type { Asking } from './asking.ts';

const BIG = Number.MAX_SAFE_INTEGER;

describe('hostile requests to the gate', () => {
  let served: Asking;
  before(async () => {
    served = await serveGate();
  });
  after(() => served.close());

  const decisions = (from: number): string[] =>
    Array.from({ length: served.log().size() - from }, (_, i) =>
      String(served.log().entry(from + i)),
    ).filter((text) => text.includes('"gate.'));

  it('are answered with 400 and the invalid member, and append nothing', async () => {
    const size = served.log().size();
    const long = 'a'.repeat(513);
    const cases: readonly [string, readonly unknown[]][] = [
      ['action_type', [undefined, null, 5, {}, [], '', true, long]],
      ['agent_id', [undefined, null, 5, {}, [], '', true, long]],
      ['scope', [null, 5, {}, long]],
      ['timestamp_ms', [null, '5', -1, 0.5, BIG + 1, 1e300]],
      ['action_ref', [null, 5, {}, '', 'x', 'A'.repeat(64), long]],
      ['entity', [5, '', 'Upper', 'with space', 'é', 'a'.repeat(257)]],
      ['surface', [null, 5, '', 'Upper', '1st', 'a-b', 'a'.repeat(65)]],
      ['amount_atomic', [null, '', '05', '-1', '9'.repeat(79), -1, 0.5, BIG + 1, 1e300]],
      ['currency', [null, 5, '', {}, long]],
      ['reversibility', [null, 5, '', 'IRREVERSIBLE', 'undoable']],
      ['receipt', [null, 5, '', [], true, long]],
      ['session_id', [null, 5, '', {}, long]],
      ['message', [null, 5, {}, [], true]],
      ['domain', [null, 5, '', long]],
      ['event_at_ms', [null, '5', -1, 0.5, BIG + 1]],
    ];
    for (const [name, values] of cases) {
      for (const value of values) {
        const { status, json } = await served.ask({ ...PAY, [name]: value });
        assert.equal(status, 400, `${name} ${JSON.stringify(value)}`);
        assert.equal(json.error.param, name, JSON.stringify(value));
      }
    }
    const early = await served.ask({ ...PAY, event_at_ms: 5 });
    assert.deepEqual(problem(early), [400, 'parameter_invalid', 'event_at_ms']);
    for (const body of ['', '[]', 'null', '"x"', '{"action_type":"a","action_type":"b"}', '{']) {
      const { status } = await served.running.post(GATE, body, { key: served.agent });
      assert.equal(status, 400, body);
    }
    const surrogate = '{"action_type":"\\ud800","agent_id":"a"}';
    const lone = await served.running.post(GATE, surrogate, { key: served.agent });
    assert.deepEqual([lone.status, lone.json.error.code], [400, 'invalid_json']);
    assert.deepEqual(decisions(size), []);
  });

  it('with any Unicode are decided if they fit the limits, and their text stays out of the log', async () => {
    const size = served.log().size();
    const mark = 'zebra-mark';
    const words = (name: string): string => `${mark} ${name} \u202e\u200b\u0000😈 ﷽ ${name}`;
    const body = {
      action_type: words('type'),
      agent_id: words('agent'),
      scope: words('scope'),
      currency: words('currency'),
      session_id: words('session'),
      domain: words('domain'),
      message: `Please pay. ${mark}`,
      amount_atomic: BIG,
      timestamp_ms: BIG,
    };
    const { status, json } = await served.ask(body);
    assert.equal(status, 200);
    assert.equal(json.outcome, 'SILENCE');
    assert.equal(json.receipt.disclosures.preimage.value.agent_id, body.agent_id);
    assert.equal(json.receipt.disclosures.currency.value, body.currency);
    assert.equal(json.receipt.currency, 'other');
    const nobody = await served.ask({ ...body, domain: 'x' }, null);
    assert.equal(nobody.status, 200);
    const held = await served.ask({ ...PAY, amount_atomic: 500, agent_id: words('held') });
    const reason = words('reason');
    for (const [action, id] of [
      ['release', held.json.hold_id],
      ['refuse', (await served.ask({ ...PAY, amount_atomic: 500 })).json.hold_id],
    ]) {
      const resolved = await served.post(`${GATE}/holds/${String(id)}`, { action, reason });
      assert.equal(resolved.status, 200);
      assert.equal(resolved.json.resolution_receipt.disclosures.reason.value, reason);
    }
    const changes = { amount_atomic: 5, message: words('message') };
    const entry_id = held.json.decision_entry_id;
    const replayed = await served.post('/tcb/counterfactual-replay', { entry_id, changes });
    assert.equal(replayed.status, 200);
    for (const kind of ['sandbox', 'live'] as const) {
      const log = served.log(kind);
      for (let index = 0; index < log.size(); index++) {
        const text = String(log.entry(index));
        assert.equal(text.includes('zebra'), false, text);
        assert.equal(text.includes('\u202e'), false, text);
      }
    }
    assert.ok(decisions(size).length > 0);
  });

  it('may have member names that JavaScript objects inherit', async () => {
    const text = `{"action_type":"constructor","agent_id":"__proto__","__proto__":{"receipt":"x"},"scope":"toString","currency":"valueOf"}`;
    const strict = await served.running.post(GATE, text, { key: served.agent });
    assert.deepEqual([strict.status, strict.json.error.code], [400, 'parameter_unknown']);
    const headers = { prefer: 'handling=lenient' };
    const { status, json } = await served.running.post(GATE, text, { key: served.agent, headers });
    assert.deepEqual([status, json.outcome, json.ignored], [200, 'SILENCE', ['__proto__']]);
  });

  it('are refused for the entity of another tenant; sessions are separate for each tenant', async () => {
    const { running } = served;
    const publish = { entity: 'own-bank', surfaces: ['pay'] };
    await running.post('/api/v1/astl/publish', publish, { key: running.sandbox });
    const unclaimed = await served.ask({ ...PAY, entity: 'nobody-claimed', surface: 'pay' });
    assert.deepEqual(problem(unclaimed), [400, 'parameter_invalid', 'entity']);
    const stranger = await served.ask({ ...PAY, entity: 'own-bank', surface: 'pay' }, served.other);
    assert.equal(stranger.status, 403);
    const { json: own } = await served.ask({ ...PAY, session_id: 'shared name' });
    const { json: other } = await served.ask({ ...PAY, session_id: 'shared name' }, served.other);
    assert.notEqual(own.receipt.session_ref, other.receipt.session_ref);
  });
});
