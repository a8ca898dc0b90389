// Tests of log/merkle/hash.ts.

import assert from 'node:assert/strict';

import { native } from '../../../log/crypto/native.ts';
import { portable } from '../../../log/crypto/portable.ts';
import { toBase64, toHex, utf8 } from '../../../log/encoding/bytes.ts';
import {
  climb,
  EMPTY_ROOT,
  HASH_BYTES,
  leafHash,
  leafOf,
  nodeHash,
  NODE_TAG,
} from '../../../log/merkle/hash.ts';

describe('log/merkle/hash', () => {
  it('prefixes leaves with 00 and nodes with 01', () => {
    const left = new Uint8Array(HASH_BYTES).fill(1);
    const right = new Uint8Array(HASH_BYTES).fill(2);
    assert.deepEqual(leafHash(native, left), native.sha256(new Uint8Array([0, ...left])));
    assert.deepEqual(
      nodeHash(native, left, right),
      native.sha256(new Uint8Array([1, ...left, ...right])),
    );
  });

  it('can write a node over one of its two children', () => {
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
      assert.deepEqual(nodeHash(suite, left, right), node, 'no state remains from the last call');
    }
  });

  it('refuses children that are not hashes', () => {
    const hash = new Uint8Array(HASH_BYTES);
    const refused = { name: 'LogError', code: 'proof_invalid' };
    for (const length of [0, HASH_BYTES - 1, HASH_BYTES + 1]) {
      assert.throws(() => nodeHash(native, new Uint8Array(length), hash), refused);
      assert.throws(() => nodeHash(native, hash, new Uint8Array(length)), refused);
    }
  });

  it('computes a root from siblings given as bytes or base64', () => {
    const node: Uint8Array = new Uint8Array(HASH_BYTES).fill(9);
    const hashes = [1, 0, 2, 3].map((n) => new Uint8Array(HASH_BYTES).fill(n));
    for (const suite of [native, portable]) {
      for (let turns = 0; turns < 2 ** hashes.length; turns += 1) {
        const isLeft = (level: number): boolean => ((turns >> level) & 1) === 1;
        const root = hashes.reduce(
          (below, sibling, i) =>
            isLeft(i) ? nodeHash(suite, sibling, below) : nodeHash(suite, below, sibling),
          node,
        );
        const mixed = hashes.map((hash, i) => (i === 1 ? null : i === 2 ? hash : toBase64(hash)));
        assert.deepEqual(climb(suite, NODE_TAG, node, hashes, isLeft), root);
        assert.deepEqual(climb(suite, NODE_TAG, node, hashes.map(toBase64), isLeft), root);
        assert.deepEqual(climb(suite, NODE_TAG, node, mixed, isLeft), root);
      }
    }
    const same = climb(native, NODE_TAG, node, [], () => true);
    assert.deepEqual(same, node);
    assert.notEqual(same, node, 'a copy');
  });

  it('refuses siblings in any text but the canonical base64 of 32 bytes', () => {
    const node = new Uint8Array(HASH_BYTES);
    const text = toBase64(node.fill(255));
    const others = [
      '',
      'AA==',
      `${text}AAAA`,
      text.slice(0, 43),
      text.replace('/', '_'),
      `${text}\n`,
    ];
    for (const other of [...others, `${text.slice(0, 42)}9=`, `\u012f${text.slice(1)}`]) {
      for (const path of [[other], [text, other], [other, text]]) {
        assert.throws(() => climb(native, NODE_TAG, node, path, () => true), {
          name: 'LogError',
          code: 'proof_invalid',
        });
      }
    }
  });

  it('hashes a leaf from text as from its bytes', () => {
    for (const text of ['', 'a', '\0', '\u00e4\u2028\u{1f600}']) {
      assert.deepEqual(native.sha256(leafOf(text)), leafHash(native, utf8(text)));
    }
  });

  it('has the published values of Certificate Transparency', () => {
    // The empty leaf, and the tree of the leaves "" and 00 (test tree of certificate-transparency).
    const empty = leafHash(native, new Uint8Array(0));
    assert.equal(toHex(empty), '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d');
    assert.equal(
      toHex(nodeHash(native, empty, leafHash(native, new Uint8Array(1)))),
      'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
    );
    assert.deepEqual(EMPTY_ROOT, native.sha256(new Uint8Array(0)));
  });
});
