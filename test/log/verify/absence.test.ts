// The absence vectors: valid documents have the stated result, all others are refused.

import assert from 'node:assert/strict';
import { native } from '../../../log/crypto/native.ts';
import { portable } from '../../../log/crypto/portable.ts';
import { verifyAbsence } from '../../../log/verify.ts';
import { questionOf, refusal } from '../../support/absence-documents.ts';
import { vectors, vectorTrust } from '../../support/absence-vectors.ts';

describe('absence documents of the vectors', () => {
  for (const [name, suite] of [
    ['native', native],
    ['portable', portable],
  ] as const) {
    for (const { name: title, doc, result } of vectors.documents) {
      it(`${title} (${name})`, () => {
        assert.deepEqual(verifyAbsence(doc, questionOf(doc), vectorTrust, { suite }), result);
      });
    }
    for (const { name: title, question, doc, text } of vectors.refused) {
      it(`refuses ${title} (${name})`, () => {
        assert.throws(
          () => verifyAbsence(text ?? doc ?? null, question, vectorTrust, { suite }),
          title === 'caller-asks-another-question'
            ? { code: 'question_unanswered' }
            : refusal(/^(document|step [0-8]): ./),
        );
      });
    }
  }

  it('have the same result as text', () => {
    for (const { doc, result } of vectors.documents) {
      const text = JSON.stringify(doc, null, 2);
      assert.deepEqual(
        verifyAbsence(text, questionOf(doc), vectorTrust, { suite: native }),
        result,
      );
    }
  });
});
