// Head records, encoded as the vector and decoded.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { native } from '../../../log/crypto/native.ts';
import { fromHex, toHex } from '../../../log/encoding/bytes.ts';
import { decodeHead, encodeHead, HEAD_BYTES, vhash } from '../../../log/map/head.ts';

const VECTORS = new URL('../../vectors/absence.json', import.meta.url);
const { head_record: vector } = JSON.parse(readFileSync(VECTORS, 'utf8')) as {
  head_record: {
    count: number;
    last_index: number;
    last_ms: number;
    last_leaf_hash: string;
    bytes: string;
    vhash: string;
  };
};

const invalid = { name: 'LogError', code: 'encoding_invalid' };

describe('map/head', () => {
  const { count, last_index, last_ms } = vector;
  const head = { count, last_index, last_ms, last_leaf_hash: fromHex(vector.last_leaf_hash) };

  it('encodes and hashes as in the vector', () => {
    assert.equal(toHex(encodeHead(head)), vector.bytes);
    assert.equal(toHex(vhash(native, head)), vector.vhash);
    assert.deepEqual(decodeHead(fromHex(vector.bytes)), head);
  });

  it('decodes to the same record, with numbers up to 2^53 - 1', () => {
    const n = fc.oneof(fc.maxSafeNat(), fc.constant(Number.MAX_SAFE_INTEGER));
    const hash = fc.uint8Array({ minLength: 32, maxLength: 32 });
    fc.assert(
      fc.property(n, n, n, hash, (a, b, c, last_leaf_hash) => {
        const any = { count: a, last_index: b, last_ms: c, last_leaf_hash };
        assert.deepEqual(decodeHead(encodeHead(any)), any);
      }),
    );
  });

  it('refuses numbers and hashes out of range', () => {
    for (const bad of [
      { ...head, count: -1 },
      { ...head, last_index: 0.5 },
      { ...head, last_ms: 2 ** 53 },
      { ...head, last_leaf_hash: new Uint8Array(31) },
    ]) {
      assert.throws(() => encodeHead(bad), invalid);
    }
  });

  it('refuses another length, another version, and numbers above 2^53 - 1', () => {
    const bytes = encodeHead(head);
    assert.throws(() => decodeHead(bytes.subarray(1)), invalid);
    assert.throws(() => decodeHead(new Uint8Array(HEAD_BYTES + 1)), invalid);
    assert.throws(() => decodeHead(Uint8Array.from(bytes).fill(2, 0, 1)), invalid);
    assert.throws(() => decodeHead(Uint8Array.from(bytes).fill(0xff, 1, 9)), invalid);
  });
});
