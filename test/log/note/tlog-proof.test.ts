// Portable proofs (C2SP tlog-proof).

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { LogError } from '../../../log/errors.ts';
import { formatTlogProof, parseTlogProof } from '../../../log/note/tlog-proof.ts';
import { vectors } from '../../support/absence-vectors.ts';

const CHECKPOINT = vectors.checkpoints[0] ?? '';
const hash = new Uint8Array(32).fill(7);
const PROOF = { index: 3, path: [hash, hash], checkpoint: CHECKPOINT };
const TEXT = formatTlogProof(PROOF);
const refused = { name: 'LogError', code: 'proof_invalid' };

describe('tlog-proof@v1', () => {
  it('has the lines of C2SP tlog-proof', () => {
    const line = 'BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=';
    const extra = new TextEncoder().encode('e');
    const text = formatTlogProof({ ...PROOF, extra });
    const lines = ['c2sp.org/tlog-proof@v1', 'extra ZQ==', 'index 3', line, line, '', CHECKPOINT];
    assert.equal(text, lines.join('\n'));
    assert.equal(TEXT, text.replace('extra ZQ==\n', ''));
  });

  it('is parsed to its parts, with the checkpoint unchanged', () => {
    const hashes = fc.array(fc.uint8Array({ minLength: 32, maxLength: 32 }), { maxLength: 63 });
    const extras = fc.option(fc.uint8Array(), { nil: undefined });
    fc.assert(
      fc.property(fc.maxSafeNat(), hashes, extras, (index, path, extra) => {
        const proof = {
          index,
          path,
          checkpoint: CHECKPOINT,
          ...(extra === undefined ? {} : { extra }),
        };
        assert.deepEqual(parseTlogProof(formatTlogProof(proof)), proof);
      }),
    );
  });

  const cases: readonly (readonly [string, string])[] = [
    ['nothing', ''],
    ['another version', TEXT.replace('@v1', '@v2')],
    ['no index', TEXT.replace('index 3\n', '')],
    ['a leading zero', TEXT.replace('index 3', 'index 03')],
    ['2^53', TEXT.replace('index 3', 'index 9007199254740992')],
    ['two spaces', TEXT.replace('index 3', 'index  3')],
    ['extra after index', TEXT.replace('index 3\n', 'index 3\nextra ZQ==\n')],
    ['two extras', TEXT.replace('index', 'extra ZQ==\nextra ZQ==\nindex')],
    ['extra that is not base64', TEXT.replace('index', 'extra ZQ\nindex')],
    ['a short hash', TEXT.replace('\nBwcH', '\n')],
    ['a carriage return', TEXT.replaceAll('\n', '\r\n')],
    ['64 hashes', TEXT.replace(/(Bw.*\n)\1/, '$1'.repeat(64))],
    ['no blank line', TEXT.slice(0, TEXT.indexOf('\n\n') + 1)],
    ['no checkpoint', TEXT.slice(0, TEXT.indexOf('\n\n') + 2)],
    ['a cut checkpoint', TEXT.slice(0, -1)],
  ];
  for (const [name, text] of cases) {
    it(`refuses ${name}`, () => {
      assert.throws(() => parseTlogProof(text), refused);
    });
  }

  it('is not written from values out of range', () => {
    assert.throws(() => formatTlogProof({ ...PROOF, index: -1 }), refused);
    assert.throws(() => formatTlogProof({ ...PROOF, path: [hash.subarray(1)] }), refused);
    const path = Array.from({ length: 64 }, () => hash);
    assert.throws(() => formatTlogProof({ ...PROOF, path }), refused);
  });

  it('throws only LogError for any text', () => {
    const change = fc.tuple(fc.nat(120), fc.nat(9), fc.string({ maxLength: 9 }));
    const changed = change.map(
      ([at, drop, text]) => TEXT.slice(0, at) + text + TEXT.slice(at + drop),
    );
    fc.assert(
      fc.property(fc.oneof(fc.string(), changed), (text) => {
        try {
          assert.equal(formatTlogProof(parseTlogProof(text)), text);
        } catch (error) {
          if (!(error instanceof LogError)) throw error;
        }
      }),
      { numRuns: 1000 },
    );
  });
});
