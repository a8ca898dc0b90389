// The head table compared with a Map, for more keys than one block and one index hold; the tree compared with its
// definition.

import assert from 'node:assert/strict';
import { native } from '../../../log/crypto/native.ts';
import { toHex, utf8 } from '../../../log/encoding/bytes.ts';
import { HeadTable, ROW_BYTES } from '../../../log/replay/chains.ts';
import { GrowingTree } from '../../../log/replay/replay.ts';
import type { Head } from '../../../log/types.ts';
import { treeHash } from '../../support/definitions.ts';

const hashOf = (n: number): Uint8Array => native.sha256(utf8(String(n)));

const headOf = (n: number): Head => ({
  count: n,
  last_index: 2 ** 53 - 1 - n,
  last_ms: n * 7,
  last_leaf_hash: hashOf(-n),
});

const KEYS = 40_000;

describe('head table', () => {
  const table = new HeadTable();
  for (let n = 0; n < KEYS; n++) table.set(table.slot(hashOf(n)), headOf(n));

  it('finds what was set, in insertion order, and nothing else', () => {
    assert.equal(table.size, KEYS);
    for (let n = 0; n < KEYS; n += 37) {
      assert.equal(table.find(hashOf(n)), n);
      assert.equal(toHex(table.skey(n)), toHex(hashOf(n)));
      assert.deepEqual(table.head(n), headOf(n));
      assert.equal(table.find(hashOf(KEYS + n)), -1);
    }
    assert.equal(table.size, KEYS);
  });

  it('distinguishes keys with a common prefix', () => {
    const alike = new HeadTable();
    const key = (n: number): Uint8Array => new Uint8Array(32).fill(7, 0, 31).fill(n, 31);
    for (let n = 0; n < 20; n++) alike.set(alike.slot(key(n)), headOf(n));
    for (let n = 0; n < 20; n++) assert.equal(alike.head(alike.find(key(n))).count, n);
    assert.equal(alike.find(key(20)), -1);
  });

  it('is restored from its dump', () => {
    const dump = table.dump();
    assert.equal(dump.length, KEYS * ROW_BYTES);
    assert.deepEqual(HeadTable.load(dump).dump(), dump);
  });
});

describe('growing tree', () => {
  it('has the root of RFC 9162 at every size, also after a restart', () => {
    const leaves: Uint8Array[] = [];
    let tree = new GrowingTree(native);
    for (let n = 0; n <= 130; n++) {
      assert.equal(toHex(tree.root()), toHex(treeHash(leaves)));
      assert.equal(tree.size, n);
      leaves.push(hashOf(n));
      tree = new GrowingTree(native, tree.size, tree.peaks());
      tree.append(hashOf(n));
    }
  });
});
