// tools/verify/recognise.ts: a thing and the answer that came around it are the same thing to check.

import assert from 'node:assert/strict';
import { CommandError } from '../../../tools/command-line.ts';
import { recognise } from '../../../tools/verify/recognise.ts';

const document = { schema: 'svc-absence-witness-v1', verdict: 'ABSENT' };
const receipt = { kid: 'k', signature: 's' };

describe('recognise', () => {
  for (const [where, value] of [
    ['alone', document],
    ['in the answer of /api/v1/absence/witness', { ok: true, witness: document }],
    ['in an answer that calls it document', { document, checks: [] }],
  ] as const) {
    it(`finds an absence document ${where}`, () => {
      assert.equal(recognise(JSON.stringify(value)).kind, 'absence');
    });
  }

  it('finds a receipt alone and in an answer', () => {
    assert.equal(recognise(JSON.stringify(receipt)).kind, 'receipt');
    assert.equal(recognise(JSON.stringify({ ok: true, receipt })).kind, 'receipt');
  });

  it("finds a clearing slot's proof, not the receipt in it", () => {
    const proof = { schema: 'svc-clearing-proof-v1', slot: receipt };
    assert.equal(recognise(JSON.stringify(proof)).kind, 'clearing');
  });

  it('asks for one of several absence documents', () => {
    const several = JSON.stringify({ ok: true, witnesses: [document, document] });
    assert.throws(() => recognise(several), { name: CommandError.name, message: /one by one/ });
  });

  it('says what error a service answered instead', () => {
    const error = { type: 'api_error', code: 'window_not_closed', message: 'not\u001b[2J closed' };
    assert.throws(() => recognise(JSON.stringify({ error })), {
      name: CommandError.name,
      message: /answered with an error.*"window_not_closed: not\\u001b\[2J closed"/,
    });
  });

  it('takes no document with a receipt in it for that receipt, whatever became of its schema', () => {
    const members = { question: {}, verdict: 'ABSENT', checkpoint: 'a note', map_head: {} };
    const sealed = { entries_root: '00', completeness_proof: {}, checkpoint: 'a note' };
    for (const value of [
      { ...members, schema: 'svc-absence-witness-v2', receipt },
      { ...members, receipt },
      { verdict: 'ABSENT', receipt },
      { ...sealed, schema: 'svc-article-12-report-v2', receipt },
      { ...sealed, receipt },
      { completeness_proof: {}, signature: 's', receipt },
      { schema: null, receipt },
      { witness: members, receipt },
      { record: {}, cose_sign1_b64: 'AAAA', receipt },
    ]) {
      assert.throws(
        () => recognise(JSON.stringify(value)),
        (error) =>
          error instanceof CommandError &&
          error.exit === 2 &&
          error.message.includes('the receipt in it does not speak for the rest'),
        JSON.stringify(value),
      );
    }
    for (const answer of [
      { ok: true, seal: {}, checkpoint: 'a note', does_not_assert: [], receipt },
      { ok: true, silence: {}, completeness_proof: document, receipt },
    ]) {
      assert.equal(recognise(JSON.stringify(answer)).kind, 'receipt');
    }
  });

  it('does not know what holds none', () => {
    assert.throws(() => recognise('{"witness":{"schema":"other"}}'), /no receipt/);
  });
});
