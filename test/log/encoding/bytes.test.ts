// Tests of log/encoding/bytes.ts.

import assert from 'node:assert/strict';

import fc from 'fast-check';

import {
  concat,
  equal,
  fromHex,
  fromUtf8,
  lp,
  readU64,
  toHex,
  u16,
  u32,
  u64,
  u8,
  utf8,
} from '../../../log/encoding/bytes.ts';

const NOTHING = new Uint8Array(0);
const bytes = fc.uint8Array({ maxLength: 100 });
const refused = { name: 'LogError', code: 'encoding_invalid' };

describe('log/encoding/bytes', () => {
  it('compares', () => {
    fc.assert(
      fc.property(bytes, bytes, (a, b) => {
        assert.equal(equal(a, b), Buffer.compare(a, b) === 0);
        assert.equal(equal(a, a.slice()), true);
        assert.deepEqual(concat(a, b), new Uint8Array(Buffer.concat([a, b])));
      }),
    );
  });

  it('encodes texts of any length as UTF-8, also after a length prefix', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 400 });
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 100 }), (texts) => {
        const encoded = texts.map(utf8);
        const named = texts.map((s) => lp(u8(7), s, s));
        for (const [i, s] of texts.entries()) {
          assert.deepEqual(Buffer.from(encoded[i]!), Buffer.from(s));
          assert.deepEqual(fromUtf8(named[i]!.subarray(3, 3 + encoded[i]!.length)), s);
        }
      }),
    );
    assert.equal(utf8('a'.repeat(100_000)).length, 100_000);
  });

  it('reads and writes well-formed UTF-8 only, without a byte order mark', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (s) => {
        if (!s.startsWith('\ufeff')) assert.equal(fromUtf8(utf8(s)), s);
      }),
    );
    assert.equal(fromUtf8(utf8('a\ufeffb')), 'a\ufeffb');
    for (const hex of ['ff', 'c080', 'eda080', 'f4908080', 'e282', 'efbbbf61']) {
      assert.throws(() => fromUtf8(fromHex(hex)), refused, hex);
    }
    for (const s of ['\ud800', 'a\udc00', '\udc00\ud800']) {
      assert.throws(() => utf8(s), refused);
      assert.throws(() => lp(NOTHING, s), refused);
    }
  });

  it('writes integers in big-endian order, and refuses those out of range', () => {
    assert.equal(toHex(concat(u8(1), u16(0x0203), u32(0x84050607))), '01020384050607');
    assert.equal(toHex(u64(Number.MAX_SAFE_INTEGER)), '001fffffffffffff');
    fc.assert(
      fc.property(fc.maxSafeNat(), (n) => {
        assert.equal(Buffer.from(u64(n)).readBigUInt64BE(), BigInt(n));
        assert.equal(readU64(concat(u8(9), u64(n)), 1), n);
      }),
    );
    for (const write of [
      () => u8(256),
      () => u8(-1),
      () => u16(65_536),
      () => u32(2 ** 32),
      () => u64(2 ** 53),
      () => u64(0.5),
      () => u64(NaN),
    ]) {
      assert.throws(write, refused);
    }
    assert.throws(() => readU64(fromHex('0020000000000000'), 0), refused);
    assert.throws(() => readU64(new Uint8Array(8), 1), refused);
    assert.throws(() => readU64(new Uint8Array(8), -1), refused);
  });

  it('prefixes a text with its length in bytes, up to 65,535', () => {
    assert.equal(toHex(lp(NOTHING, '\u00e9a')), '0003c3a961');
    assert.equal(lp(NOTHING, 'a'.repeat(65_535)).length, 65_537);
    assert.throws(() => lp(NOTHING, 'a'.repeat(65_536)), refused);
  });
});
