// log/verify/recognise.ts: finds the document in a file, alone or inside an answer of the service.

import assert from 'node:assert/strict';
import { recogniseDocuments, Unanswerable } from '../../../plugins/verifiers.ts';
import { recognised } from '../../support/recognised.ts';

const document = { schema: 'svc-absence-witness-v1', verdict: 'ABSENT' };
const receipt = { kid: 'k', signature: 's' };

describe('recognise', () => {
  for (const [where, value] of [
    ['alone', document],
    ['in the answer of /api/v1/absence/witness', { ok: true, witness: document }],
    ['in an answer that calls it document', { document, checks: [] }],
  ] as const) {
    it(`finds an absence document ${where}`, () => {
      assert.equal(recognised(JSON.stringify(value)).kind, 'absence');
    });
  }

  it('finds a receipt alone and in an answer', () => {
    assert.equal(recognised(JSON.stringify(receipt)).kind, 'receipt');
    assert.equal(recognised(JSON.stringify({ ok: true, receipt })).kind, 'receipt');
  });

  it('finds a receipt with a disclosed value of the largest depth', () => {
    const value: unknown = JSON.parse(`${'['.repeat(16)}${']'.repeat(16)}`);
    const deep = { ...receipt, disclosures: { preimage: { salt: '', value } } };
    assert.equal(recognised(JSON.stringify(deep)).kind, 'receipt');
    assert.equal(recognised(JSON.stringify({ ok: true, receipt: deep })).kind, 'receipt');
  });

  it("finds a clearing slot's proof, not the receipt in it", () => {
    const proof = { schema: 'svc-clearing-proof-v1', slot: receipt };
    assert.equal(recognised(JSON.stringify(proof)).kind, 'clearing');
  });

  it('finds each of several absence documents', () => {
    const several = JSON.stringify({ ok: true, witnesses: [document, document] });
    const kinds = recogniseDocuments(Buffer.from(several)).map(({ kind }) => kind);
    assert.deepEqual(kinds, ['absence', 'absence']);
    assert.throws(() => recognised('{"witnesses":[]}'), /holds no absence document/);
  });

  it('refuses malformed JSON and text that is not UTF-8', () => {
    assert.throws(() => recognised('{"a":1,"a":2}'), { name: 'LogError' });
    const receipt = Buffer.from('{"kid":"k","signature":"s","x":"?"}');
    receipt[receipt.indexOf('?')] = 0xff;
    assert.throws(() => recognised(receipt), { name: 'LogError' });
    assert.throws(() => recognised(Buffer.of(0xff, 0xfe)), { name: 'Unanswerable' });
  });

  it('reports the error that a service answered', () => {
    const error = { type: 'api_error', code: 'window_not_closed', message: 'not\u001b[2J closed' };
    assert.throws(() => recognised(JSON.stringify({ error })), {
      name: Unanswerable.name,
      message: /answered with an error.*"window_not_closed: not\\u001b\[2J closed"/,
    });
  });

  it('does not check a document as the receipt inside it, whatever its schema says', () => {
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
        () => recognised(JSON.stringify(value)),
        (error) =>
          error instanceof Unanswerable &&
          error.message.includes('the receipt in it does not speak for the rest'),
        JSON.stringify(value),
      );
    }
    for (const answer of [
      { ok: true, seal: {}, checkpoint: 'a note', does_not_assert: [], receipt },
      { ok: true, silence: {}, completeness_proof: document, receipt },
    ]) {
      assert.equal(recognised(JSON.stringify(answer)).kind, 'receipt');
    }
  });

  it('does not recognise a file without a document', () => {
    assert.throws(() => recognised('{"witness":{"schema":"other"}}'), /no receipt/);
  });
});
