// The trie against its definition: any order of updates, any interleaving of versions, and the vectors.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { native } from '../../../log/crypto/native.ts';
import { fromHex, toHex, utf8 } from '../../../log/encoding/bytes.ts';
import type { JsonObject } from '../../../log/encoding/json.ts';
import { checkMember, checkNonMember } from '../../../log/map/check.ts';
import { vhash } from '../../../log/map/head.ts';
import { chainKeys, skey } from '../../../log/map/key.ts';
import { HeadTrie } from '../../../log/map/trie.ts';
import type { Head } from '../../../log/types.ts';
import { naiveInner, naiveProof, naiveRoot } from './recursive-map.ts';

const VECTORS = new URL('../../vectors/absence.json', import.meta.url);
const vectors = JSON.parse(readFileSync(VECTORS, 'utf8')) as {
  origin: string;
  map_roots: { n: number; root: string }[];
  entries: string[];
  leaf_hashes: string[];
};

const sha = (text: string): Uint8Array => native.sha256(utf8(text));

/** Keys with long common prefixes: zero except for one byte near the top, in the middle or at the end. */
const clustered = fc
  .record({ at: fc.constantFrom(0, 1, 15, 30, 31), byte: fc.nat(7) })
  .map(({ at, byte }) => {
    const key = new Uint8Array(32);
    key[at] = byte;
    return key;
  });
const spread = fc.nat(30).map((n) => sha(`spread ${String(n)}`));
const key = fc.oneof(clustered, spread);
const value = fc.nat(1000).map((n) => sha(`value ${String(n)}`));

function trieOf(entries: readonly (readonly [Uint8Array, Uint8Array])[]): HeadTrie {
  const trie = new HeadTrie();
  for (const [k, v] of entries) trie.set(k, v);
  return trie;
}

function mapOf(entries: readonly (readonly [Uint8Array, Uint8Array])[]): Map<string, string> {
  return new Map(entries.map(([k, v]) => [toHex(k), toHex(v)]));
}

describe('map/trie: vectors', () => {
  it('has the roots of 0 to 8 keys', () => {
    for (const { n, root } of vectors.map_roots) {
      const trie = new HeadTrie();
      for (let i = 0; i < n; i++) trie.set(sha(`key${String(i)}`), sha(`val${String(i)}`));
      assert.equal(toHex(trie.root()), root, `${String(n)} keys`);
      assert.equal(trie.size, n);
    }
  });

  it('has the map root of every map head of the vectors', () => {
    const trie = new HeadTrie();
    const heads = new Map<string, Head>();
    let seen = 0;
    for (const [index, text] of vectors.entries.entries()) {
      const entry = JSON.parse(text) as JsonObject;
      if (entry['type'] === 'log.map_head.v1') {
        assert.equal(toHex(trie.root()), entry['map_root']);
        seen++;
      }
      for (const chain of chainKeys(entry, [])) {
        const place = skey(native, vectors.origin, chain);
        const head = {
          count: (heads.get(toHex(place))?.count ?? 0) + 1,
          last_index: index,
          last_ms: Number(entry['issued_at_ms']),
          last_leaf_hash: fromHex(vectors.leaf_hashes[index] ?? ''),
        };
        heads.set(toHex(place), head);
        trie.set(place, vhash(native, head));
      }
    }
    assert.equal(seen, 3);
  });
});

describe('map/trie: one version', () => {
  it('has the root of the definition for any order of updates and of hashing', () => {
    const entries = fc.array(fc.tuple(key, value), { maxLength: 60 });
    fc.assert(
      fc.property(entries, fc.array(fc.nat(59)), (sets, hashedAfter) => {
        const map = mapOf(sets);
        const expected = naiveRoot(map);
        const trie = new HeadTrie();
        for (const [i, [k, v]] of sets.entries()) {
          trie.set(k, v);
          if (hashedAfter.includes(i)) trie.root();
        }
        assert.deepEqual(trie.root(), expected);
        assert.equal(trie.size, map.size);
        const sorted = [...map].sort().map(([k, v]) => [fromHex(k), fromHex(v)] as const);
        assert.deepEqual(trieOf(sorted).root(), expected);
        assert.deepEqual(trieOf(sorted.reverse()).root(), expected);
      }),
    );
  });

  it('gives the proofs of the definition, with up to 256 siblings', () => {
    const last = new Uint8Array(32);
    last[31] = 1;
    const trie = trieOf([
      [new Uint8Array(32), sha('a')],
      [last, sha('b')],
    ]);
    const { id, root } = trie.freeze();
    const { siblings } = trie.prove(id, last);
    assert.equal(siblings.length, 256);
    checkMember(native, { root, skey: last, vhash: sha('b'), siblings });
  });

  it('stores exactly one record for each node', () => {
    const entries = Array.from(
      { length: 500 },
      (_, i) => [sha(`k${String(i)}`), sha('v')] as const,
    );
    const trie = trieOf(entries);
    for (let round = 0; round < 3; round++) for (const [k] of entries) trie.set(k, sha('w'));
    assert.equal(trie.memory.leaves, 500);
    assert.equal(trie.memory.inner, naiveInner(mapOf(entries)));
  });

  it('refuses keys and values that are not 32 bytes', () => {
    const trie = new HeadTrie();
    assert.throws(() => {
      trie.set(new Uint8Array(31), sha('v'));
    }, /31 bytes/u);
    assert.throws(() => {
      trie.set(sha('k'), new Uint8Array(33));
    }, /33 bytes/u);
  });
});

describe('map/trie: versions', () => {
  type Step =
    | { do: 'set'; key: Uint8Array; value: Uint8Array }
    | { do: 'root' }
    | { do: 'freeze' }
    | { do: 'release' | 'hold'; which: number };

  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 8, arbitrary: fc.record({ do: fc.constant('set' as const), key, value }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('freeze' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('root' as const) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constantFrom('release' as const, 'hold' as const),
        which: fc.nat(5),
      }),
    },
  );

  interface Kept {
    id: number;
    root: Uint8Array;
    map: Map<string, string>;
    holds: number;
  }

  function checkKept(trie: HeadTrie, kept: readonly Kept[], asked: Uint8Array): void {
    for (const { id, root, map } of kept) {
      const proof = trie.prove(id, asked);
      assert.deepEqual(proof, naiveProof(map, asked));
      const { siblings, leaf } = proof;
      if (leaf !== null && toHex(leaf.skey) === toHex(asked)) {
        checkMember(native, { root, skey: asked, vhash: leaf.vhash, siblings });
      } else if (leaf === null) {
        checkNonMember(native, { root, skey: asked, siblings });
      } else {
        checkNonMember(native, { root, skey: asked, siblings, foreign: leaf });
      }
    }
  }

  it('are unchanged under any interleaving, and free all records once released', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), key, (steps, asked) => {
        const trie = new HeadTrie();
        const map = new Map<string, string>();
        const kept: Kept[] = [];
        for (const now of steps) {
          if (now.do === 'set') {
            trie.set(now.key, now.value);
            map.set(toHex(now.key), toHex(now.value));
          } else if (now.do === 'root') {
            assert.deepEqual(trie.root(), naiveRoot(map));
          } else if (now.do === 'freeze') {
            const { id, root } = trie.freeze();
            assert.deepEqual(root, naiveRoot(map));
            kept.push({ id, root, map: new Map(map), holds: 1 });
          } else {
            const version = kept[now.which];
            if (version === undefined) continue;
            if (now.do === 'hold') trie.hold(version.id);
            else trie.release(version.id);
            version.holds += now.do === 'hold' ? 1 : -1;
            if (version.holds === 0) kept.splice(now.which, 1);
          }
        }
        checkKept(trie, kept, asked);
        for (const { map: then } of kept) {
          const [some] = then.keys();
          if (some !== undefined) checkKept(trie, kept, fromHex(some));
        }
        for (const { id, holds } of kept) for (let i = 0; i < holds; i++) trie.release(id);
        assert.deepEqual(trie.root(), naiveRoot(map));
        assert.equal(trie.memory.leaves, map.size);
        assert.equal(trie.memory.inner, naiveInner(map));
      }),
      { numRuns: 300 },
    );
  });

  it('reuse freed records', () => {
    const trie = new HeadTrie();
    const keys = Array.from({ length: 300 }, (_, i) => sha(`k${String(i)}`));
    for (const k of keys) trie.set(k, sha('0'));
    let before = trie.freeze();
    let most = 0;
    for (let round = 1; round <= 50; round++) {
      for (const k of keys) trie.set(k, sha(String(round)));
      const next = trie.freeze();
      most = Math.max(most, trie.memory.leaves);
      trie.release(before.id);
      before = next;
    }
    assert.equal(most, 600);
    assert.equal(trie.memory.leaves, 300);
  });

  it('are unknown once released', () => {
    const trie = trieOf([[sha('k'), sha('v')]]);
    const { id } = trie.freeze();
    trie.release(id);
    for (const call of [
      () => trie.prove(id, sha('k')),
      () => {
        trie.hold(id);
      },
      () => {
        trie.release(id);
      },
    ]) {
      assert.throws(call, { name: 'LogError', code: 'out_of_range' });
    }
  });
});
