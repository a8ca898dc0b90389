// Tests of log/merkle/hash.ts.

import assert from 'node:assert/strict';

import { native } from '../../../log/crypto/native.ts';
import { portable } from '../../../log/crypto/portable.ts';
import { toHex, utf8 } from '../../../log/encoding/bytes.ts';
import { EMPTY_ROOT, HASH_BYTES, leafHash, leafOf, nodeHash } from '../../../log/merkle/hash.ts';

describe('log/merkle/hash', () => {
  it('tags leaves with 00 and nodes with 01', () => {
    const left = new Uint8Array(HASH_BYTES).fill(1);
    const right = new Uint8Array(HASH_BYTES).fill(2);
    assert.deepEqual(leafHash(native, left), native.sha256(new Uint8Array([0, ...left])));
    assert.deepEqual(
      nodeHash(native, left, right),
      native.sha256(new Uint8Array([1, ...left, ...right])),
    );
  });

  it('writes a node over one of the two it is made of', () => {
    const [left, right] = [new Uint8Array(HASH_BYTES).fill(1), new Uint8Array(HASH_BYTES).fill(2)];
    for (const suite of [native, portable]) {
      const node = nodeHash(suite, left, right);
      for (const side of [0, 1]) {
        const pair = [left.slice(), right.slice()] as const;
        const [first, second] = pair;
        const into = pair[side] ?? first;
        assert.equal(nodeHash(suite, first, second, into), into);
        assert.deepEqual(into, node);
      }
      assert.deepEqual(nodeHash(suite, left, right), node, 'and keeps nothing of the last one');
    }
  });

  it('makes a node of two hashes only', () => {
    const hash = new Uint8Array(HASH_BYTES);
    for (const length of [0, HASH_BYTES - 1, HASH_BYTES + 1]) {
      assert.throws(() => nodeHash(native, new Uint8Array(length), hash), RangeError);
      assert.throws(() => nodeHash(native, hash, new Uint8Array(length)), RangeError);
    }
  });

  it('makes a leaf of a text as of its bytes', () => {
    for (const text of ['', 'a', '\0', '\u00e4\u2028\u{1f600}']) {
      assert.deepEqual(native.sha256(leafOf(text)), leafHash(native, utf8(text)));
    }
  });

  it('has the values that certificate transparency publishes', () => {
    // The empty leaf, and the tree of the leaves "" and 00 (certificate-transparency's test tree).
    const empty = leafHash(native, new Uint8Array(0));
    assert.equal(toHex(empty), '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d');
    assert.equal(
      toHex(nodeHash(native, empty, leafHash(native, new Uint8Array(1)))),
      'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
    );
    assert.deepEqual(EMPTY_ROOT, native.sha256(new Uint8Array(0)));
  });
});
