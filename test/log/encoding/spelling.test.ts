// Tests of hex, base64 and decimals in log/encoding/bytes.ts.

import assert from 'node:assert/strict';

import fc from 'fast-check';

import {
  fromBase64,
  fromBase64Url,
  fromHex,
  toBase64,
  toBase64Url,
  toHex,
} from '../../../log/encoding/bytes.ts';

const bytes = fc.uint8Array({ maxLength: 100 });
const refused = { name: 'LogError', code: 'encoding_invalid' };

describe('log/encoding/spelling', () => {
  it('encodes hex and base64 as Node.js does, and decodes them', () => {
    fc.assert(
      fc.property(bytes, (b) => {
        assert.equal(toHex(b), Buffer.from(b).toString('hex'));
        assert.equal(toBase64(b), Buffer.from(b).toString('base64'));
        assert.equal(toBase64Url(b), Buffer.from(b).toString('base64url'));
        assert.deepEqual(fromHex(toHex(b), b.length), b);
        assert.deepEqual(fromBase64(toBase64(b), b.length), b);
        assert.deepEqual(fromBase64Url(toBase64Url(b), b.length), b);
      }),
    );
  });

  it('accepts one encoding only: encoding a decoded value gives the same text', () => {
    const text = fc.string({
      unit: fc.constantFrom(...'AQBgwz09+/-_=fF \n\u00e9'.split('')),
      maxLength: 9,
    });
    fc.assert(
      fc.property(text, (s) => {
        for (const [read, write] of [
          [fromHex, toHex],
          [fromBase64, toBase64],
          [fromBase64Url, toBase64Url],
        ] as const) {
          let b: Uint8Array;
          try {
            b = read(s);
          } catch (error) {
            assert.equal((error as { code?: string }).code, 'encoding_invalid');
            continue;
          }
          assert.equal(write(b), s);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('refuses other encodings and lengths', () => {
    for (const s of ['0', 'AB', 'zz', '0x00', ' 00', '0\u0130']) {
      assert.throws(() => fromHex(s), refused, s);
    }
    for (const s of ['AA', 'AAA', 'AB==', 'AAF=', 'A===', '====', 'AA=A', 'AA-_', 'AA==\n']) {
      assert.throws(() => fromBase64(s), refused, s);
    }
    for (const s of ['A', 'AB', 'AAF', 'AA==', 'AA+/', 'AAAAA']) {
      assert.throws(() => fromBase64Url(s), refused, s);
    }
    assert.throws(() => fromHex('0000', 1), refused);
    assert.throws(() => fromBase64('AAAA', 2), refused);
    assert.throws(() => fromBase64Url('AAAA', 4), refused);
  });
});
