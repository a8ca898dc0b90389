// The tree over a list is that of RFC 6962, by the recursive definition and by merkletreejs.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { MerkleTree } from 'merkletreejs';
import { native } from '../../../log/crypto/native.ts';
import { toHex } from '../../../log/index.ts';
import { checkInclusion } from '../../../log/merkle/check.ts';
import { EMPTY_ROOT, leafHash } from '../../../log/merkle/hash.ts';
import { listTree } from '../../../log/merkle/prove.ts';

const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();
const leavesOf = (size: number): Buffer[] =>
  Array.from({ length: size }, (_, i) => Buffer.from(`leaf ${String(i)}`));

/** RFC 9162 §2.1.1. */
function defined(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return sha256(Buffer.alloc(0));
  const [only] = leaves;
  if (leaves.length === 1 && only !== undefined) return sha256(Buffer.from([0, ...only]));
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return sha256(
    Buffer.concat([Buffer.of(1), defined(leaves.slice(0, k)), defined(leaves.slice(k))]),
  );
}

describe('the tree over a list', () => {
  it('has the root of the definition and of merkletreejs at small sizes', () => {
    for (let size = 1; size <= 40; size += 1) {
      const leaves = leavesOf(size);
      const root = toHex(listTree(leaves).root);
      assert.equal(root, defined(leaves).toString('hex'), String(size));
      const hashes = leaves.map((leaf) => sha256(Buffer.from([0, ...leaf])));
      const other = new MerkleTree(hashes, sha256, {
        concatenator: ([left, right]: Buffer[]) =>
          Buffer.concat([Buffer.of(1), left ?? Buffer.alloc(0), right ?? Buffer.alloc(0)]),
      });
      assert.equal(root, other.getRoot().toString('hex'), String(size));
    }
  });

  it('proves every leaf, and only at its own index', () => {
    for (const size of [1, 2, 3, 5, 8, 13, 33]) {
      const leaves = leavesOf(size);
      const { root, path } = listTree(leaves);
      leaves.forEach((leaf, index) => {
        const claim = { index, size, leafHash: leafHash(native, leaf), path: path(index), root };
        checkInclusion(native, claim);
        if (size === 1) return;
        const index_ = (index + 1) % size;
        assert.throws(() => checkInclusion(native, { ...claim, index: index_ }));
      });
      assert.throws(() => path(size), { code: 'out_of_range' });
    }
  });

  it('has the hash of the empty string if there are no leaves', () => {
    assert.deepEqual(listTree([]).root, EMPTY_ROOT);
  });
});
