// The tree of a session against merkletreejs, set up as RFC 6962.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { MerkleTree } from 'merkletreejs';
import { canonical } from '../../../log/index.ts';
import { grown, leafHash, NO_PEAKS, rootOf } from '../../../plugins/foundry/inference/entries.ts';

const sha256 = (bytes: Buffer): Buffer => createHash('sha256').update(bytes).digest();

const leafOf = (n: number) => ({
  request_hash: sha256(Buffer.from(`request ${String(n)}`)).toString('hex'),
  response_hash: sha256(Buffer.from(`response ${String(n)}`)).toString('hex'),
  outcome: 'completed',
});

describe('the tree of a session', () => {
  it('has the root of merkletreejs at every size', () => {
    const concatenator = (nodes: Buffer[]): Buffer => Buffer.concat([Buffer.of(1), ...nodes]);
    const hashes: Buffer[] = [];
    let tree = NO_PEAKS;
    for (let n = 0; n < 70; n++) {
      tree = grown(tree, leafOf(n));
      hashes.push(Buffer.from(leafHash(leafOf(n)), 'hex'));
      const other = new MerkleTree(hashes, sha256, { concatenator }).getRoot().toString('hex');
      assert.equal(rootOf(tree), other, `size ${String(n + 1)}`);
      assert.equal(tree.size, n + 1);
    }
  });

  it('hashes a leaf by its canonical form', () => {
    const text = canonical(leafOf(1));
    const expected = sha256(Buffer.concat([Buffer.of(0), Buffer.from(text)])).toString('hex');
    assert.equal(leafHash(leafOf(1)), expected);
  });
});
