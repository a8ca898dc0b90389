// log/verify/recognise.ts: members of an answer outside its receipt or document are not checked, and the result says so.

import assert from 'node:assert/strict';
import { trustFromKit } from '../../../log/verify.ts';
import { besideLines, checkDocument, recogniseDocuments } from '../../../plugins/verifiers.ts';
import { recognised } from '../../support/recognised.ts';
import type { Body } from '../../support/body.ts';
import { run } from '../../gateway/running.ts';

const document = { schema: 'svc-absence-witness-v1' };

describe('members of an answer that are not checked', () => {
  const said = (value: object): readonly string[] => {
    const shown = recognised(JSON.stringify(value));
    const part = shown.kind === 'absence' ? 'its absence document' : 'its receipt';
    return besideLines(part, shown).map(({ detail }) => detail);
  };
  const receipt = { kid: 'k', signature: 's' };

  it('do not exist in a receipt or document, alone or in a plain answer', () => {
    for (const value of [
      receipt,
      { ok: true, receipt },
      { found: true, receipt, proof: { tlog_proof: 'p' } },
      document,
      { ok: true, witness: document },
    ]) {
      assert.deepEqual(said(value), [], JSON.stringify(value));
    }
  });

  it('are named: the first few, and only plain names', () => {
    const one = { ok: true, retention_hold: false, receipt };
    assert.deepEqual(said(one), [
      "the answer's other members, such as retention_hold, are not checked: only its receipt",
    ]);
    assert.deepEqual(said({ 'a\u001b[2J': 1, b: 1, c: 1, d: 1, e: 1, receipt }), [
      "the answer's other members, such as b, c, d, are not checked: only its receipt",
    ]);
    assert.deepEqual(said({ '\u001b': 1, receipt }), [
      "the answer's other members are not checked: only its receipt",
    ]);
    assert.deepEqual(said({ ok: true, witness: document, decision: 'ALLOW' }), [
      "the answer's other members, such as decision, are not checked: only its absence document",
    ]);
    const several = { ok: true, witnesses: [document], decision: 'ALLOW' };
    const [first] = recogniseDocuments(Buffer.from(JSON.stringify(several)));
    assert.ok(first !== undefined);
    assert.match(besideLines('its absence document', first)[0]?.detail ?? '', /such as decision,/);
  });

  it('leave an answer valid, and are listed with its checks', async () => {
    const running = await run();
    let answer: Body;
    let kit: Body;
    try {
      const body = { decision_reason: 'no consent', action_not_taken: 'call' };
      answer = (await running.post('/api/v1/restraint', body, { key: running.live })).json;
      kit = (await running.get('/export/offline-verify-kit.json')).json;
    } finally {
      await running.close();
    }
    const shown = recognised(JSON.stringify({ ...answer, restraint: { made: 'up' } }));
    assert.ok(shown.kind === 'receipt');
    const trust = trustFromKit(kit, answer.receipt.origin as string);
    const { valid, checks } = await checkDocument(shown, trust);
    assert.equal(valid, true);
    assert.equal(checks.at(-1)?.outcome, 'not_shown');
    assert.match(
      checks.at(-1)?.detail ?? '',
      /such as restraint, are not checked: only its receipt/,
    );
  });
});
