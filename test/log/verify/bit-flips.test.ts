// Each bit of an absence document is significant: with any bit flipped, the document is refused or proves exactly the
// same. One document for each verdict and proof; all bits with EXHAUSTIVE=1, otherwise a random sample.

import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { native } from '../../../log/crypto/native.ts';
import { fromUtf8, utf8 } from '../../../log/encoding/bytes.ts';
import type { Json } from '../../../log/encoding/json.ts';
import { LogError, verifyAbsence } from '../../../log/verify.ts';
import type { AbsenceResult, Question } from '../../../log/verify.ts';
import { vectors, vectorTrust } from '../../support/absence-vectors.ts';

const exhaustive = process.env['EXHAUSTIVE'] === '1';
const SAMPLE = 600;

const titles = [
  'absent-never-with-coverage',
  'absent-gap-no-heartbeat-declared',
  'absent-tail',
  'undersampled',
  'undeclared-withdrawn-surface',
  'present-closed-by-gap',
  'present-closed-by-tail',
  'present-first-page',
];

/** The bits to flip: all, or a random sample. */
function* bits(length: number): Generator<number> {
  if (exhaustive) for (let bit = 0; bit < length; bit++) yield bit;
  else for (let i = 0; i < SAMPLE; i++) yield randomInt(length);
}

/** The document is invalid, or it is valid and answers another question. */
const REFUSALS = new Set<string>(['document_invalid', 'question_unanswered']);

/** The result of the flipped text, or null if it is refused. */
function proves(bytes: Uint8Array, question: Question): AbsenceResult | null {
  let text: Json;
  try {
    text = fromUtf8(bytes);
  } catch {
    return null; // not UTF-8
  }
  try {
    // A valid document with a wider window still answers the question.
    const { covers: _, ...proved } = verifyAbsence(text, question, vectorTrust, { suite: native });
    return proved;
  } catch (error) {
    assert.ok(error instanceof LogError && REFUSALS.has(error.code), String(error));
    return null;
  }
}

/** Whether a byte is in this name or in the key id (the first 6 base64 digits) after it. */
function within(at: number, bytes: Uint8Array, name: string): boolean {
  const start = Buffer.from(bytes).indexOf(name);
  return at >= start && at < start + name.length + 6;
}

describe(`one flipped bit of a document (${exhaustive ? 'all' : 'a sample'})`, function () {
  this.timeout(0);

  for (const title of titles) {
    it(title, () => {
      const { doc, result } = vectors.documents.find(({ name }) => name === title)!;
      const question = doc.question as unknown as Question;
      const words = { statement: 'In this window.', does_not_assert: ['what was never logged'] };
      const bytes = utf8(JSON.stringify({ ...doc, ...words }));
      assert.deepEqual(proves(bytes, question), result);
      let refused = 0;
      let unchanged = 0;
      for (const bit of bits(bytes.length * 8)) {
        const flipped = bytes.slice();
        flipped[bit >> 3]! ^= 1 << (bit & 7);
        const proved = proves(flipped, question);
        if (proved === null) {
          refused += 1;
        } else {
          // A cosignature with another name or key id is of an unknown cosigner, and is ignored.
          const stranger = within(bit >> 3, bytes, 'monitor.example/one/map ');
          const expected = stranger ? { ...result, map_verified: 0 } : result;
          assert.deepEqual(proved, expected, `bit ${String(bit)} changes the result`);
          unchanged += 1;
        }
      }
      assert.ok(
        refused > 10 * unchanged,
        `${String(refused)} refused, ${String(unchanged)} unchanged`,
      );
    });
  }
});
