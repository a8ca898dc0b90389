// dist/static/: the browser build has the same verdict as the sources for every vector. Skipped until `npm run build`
// has made dist/.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { native } from '../../log/crypto/native.ts';
import type * as verifier from '../../log/verify.ts';
import { questionOf } from '../support/absence-documents.ts';
import { vectors, vectorTrust } from '../support/absence-vectors.ts';
import { sharedVectors } from '../support/vectors.ts';

const BUILT = new URL('../../dist/static/verify.js', import.meta.url);

describe('the browser verifier (skipped until `npm run build` has made dist/)', () => {
  let built: typeof verifier;

  before(async function () {
    if (!existsSync(BUILT)) this.skip();
    built = (await import(BUILT.href)) as typeof verifier;
  });

  it('is at most 29 KiB gzipped', () => {
    const { length } = gzipSync(readFileSync(BUILT), { level: 9 });
    assert.ok(length <= 29 * 1024, `${String(length)} bytes`);
  });

  it('keeps the other code of /verify in its own two scripts, at most 60 KB gzipped each', () => {
    for (const name of ['verify', 'verify-more']) {
      const page = new URL(`../../dist/static/${name}-page.js`, import.meta.url);
      const { length } = gzipSync(readFileSync(page), { level: 9 });
      assert.ok(length <= 60_000, `${name}: ${String(length)} bytes`);
    }
  });

  it('has the verdict of each valid absence document', () => {
    for (const { name, doc, result } of vectors.documents) {
      assert.deepEqual(built.verifyAbsence(doc, questionOf(doc), vectorTrust), result, name);
    }
    assert.equal(vectors.documents.length, 12);
  });

  it('refuses every invalid absence document', () => {
    for (const { name, question, doc, text } of vectors.refused) {
      assert.throws(
        () => built.verifyAbsence(text ?? doc ?? null, question, vectorTrust),
        (error) =>
          error instanceof built.LogError &&
          error.code ===
            (name === 'caller-asks-another-question' ? 'question_unanswered' : 'document_invalid'),
        name,
      );
    }
    assert.equal(vectors.refused.length, 38);
  });

  it('has the result of the server for each Ed25519 vector', function () {
    const file = sharedVectors('ed25519/vectors.json') as
      readonly { number: number; key: string; msg: string; sig: string }[] | null;
    if (file === null) this.skip(); // they are read from ../shared/vectors
    for (const { number, key, msg, sig } of file) {
      const publicKey = Buffer.from(key, 'hex');
      const message = Buffer.from(msg);
      const signature = Buffer.from(sig, 'hex');
      assert.equal(
        built.verifySignature({ publicKey, message, signature }),
        native.verify(publicKey, message, signature),
        `vector ${String(number)}`,
      );
    }
  });
});
