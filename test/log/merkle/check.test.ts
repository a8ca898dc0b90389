// Tests of log/merkle/check.ts.

import assert from 'node:assert/strict';

import fc from 'fast-check';

import { native } from '../../../log/crypto/native.ts';
import { fromBase64 } from '../../../log/encoding/bytes.ts';
import { checkConsistency, checkInclusion, rootOfInclusion } from '../../../log/merkle/check.ts';
import type { ConsistencyClaim } from '../../../log/merkle/check.ts';
import { EMPTY_ROOT } from '../../../log/merkle/hash.ts';
import { sharedVectors } from '../../support/vectors.ts';
import { Oracle, sides, someLeaves } from './oracle.ts';

const MAX = 600;
const leaves = someLeaves(MAX);
const oracle = new Oracle(leaves);
const refused = { name: 'LogError', code: 'proof_invalid' };

const sizes = fc.integer({ min: 1, max: MAX });
const inclusion = fc.tuple(sizes, fc.nat()).map(([size, n]) => {
  const index = n % size;
  const leafHash = oracle.range(index, index + 1);
  return { index, size, leafHash, path: oracle.inclusion(index, size), root: oracle.root(size) };
});
const consistency = fc.tuple(sizes, fc.nat()).map(([to, n]) => {
  const from = 1 + (n % to);
  const roots = { fromRoot: oracle.root(from), toRoot: oracle.root(to) };
  return { from, to, ...roots, path: oracle.consistency(from, to) };
});

function flipped(hash: Uint8Array, bit: number): Uint8Array {
  const other = hash.slice();
  other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return other;
}

/** The path with one bit of a hash flipped, one hash more or less, or two hashes exchanged. */
function brokenPaths(path: readonly Uint8Array[], bit: number): Uint8Array[][] {
  const extra = leaves[0] ?? new Uint8Array(32);
  const broken = [
    [...path, extra],
    [extra, ...path],
    ...path.map((_, i) => path.filter((_hash, j) => j !== i)),
    ...path.map((hash, i) => path.with(i, flipped(hash, bit))),
    ...path.map((hash, i) => path.with(i, hash.slice(1))),
  ];
  if (path.length > 1) broken.push([...path.slice(1), ...path.slice(0, 1)]);
  return broken;
}

describe('log/merkle/check', () => {
  const bits = fc.nat({ max: 255 });

  it('refuses an inclusion claim with any bit changed', () => {
    fc.assert(
      fc.property(inclusion, bits, (claim, bit) => {
        checkInclusion(native, claim);
        assert.deepEqual(rootOfInclusion(native, claim), claim.root);
        const broken = [
          { ...claim, root: flipped(claim.root, bit) },
          { ...claim, leafHash: flipped(claim.leafHash, bit) },
          ...brokenPaths(claim.path, bit).map((path) => ({ ...claim, path })),
        ];
        for (const other of broken) assert.throws(() => checkInclusion(native, other), refused);
      }),
    );
  });

  it('refuses every bit of one claim flipped in turn', () => {
    const claim = {
      index: 3,
      size: 7,
      leafHash: oracle.range(3, 4),
      path: oracle.inclusion(3, 7),
      root: oracle.root(7),
    };
    for (let bit = 0; bit < 256; bit++) {
      const broken = [
        { ...claim, root: flipped(claim.root, bit) },
        { ...claim, leafHash: flipped(claim.leafHash, bit) },
        ...claim.path.map((h, i) => ({ ...claim, path: claim.path.with(i, flipped(h, bit)) })),
      ];
      assert.equal(broken.length, 5);
      for (const other of broken) assert.throws(() => checkInclusion(native, other), refused);
    }
  });

  it('refuses another index', () => {
    fc.assert(
      fc.property(inclusion, fc.nat({ max: MAX }), (claim, index) => {
        if (index === claim.index) return;
        assert.throws(() => checkInclusion(native, { ...claim, index }), refused);
      }),
    );
  });

  it('refuses another size, unless the leaf has the same position in both trees', () => {
    // A root does not determine its size, because a leaf hash can be taken for a node. Only the checkpoint binds the
    // two.
    fc.assert(
      fc.property(inclusion, fc.nat({ max: MAX }), (claim, size) => {
        const { index } = claim;
        const same =
          index < size && sides(index, index + 1, size) === sides(index, index + 1, claim.size);
        const check = () => checkInclusion(native, { ...claim, size });
        if (same) check();
        else assert.throws(check, refused);
      }),
      { numRuns: 500 },
    );
  });

  it('refuses invalid indexes and sizes, and hashes that are not 32 bytes', () => {
    const [leafHash] = leaves;
    if (leafHash === undefined) throw new Error('no leaf');
    const claim = { index: 0, size: 1, leafHash, path: [], root: leafHash };
    checkInclusion(native, claim);
    for (const n of [-1, 0.5, NaN, Infinity, 2 ** 53, 2 ** 64]) {
      assert.throws(() => checkInclusion(native, { ...claim, size: n }), refused);
      assert.throws(() => checkInclusion(native, { ...claim, index: n, size: 2 }), refused);
    }
    assert.throws(() => checkInclusion(native, { ...claim, size: 0 }), refused);
    for (const hash of [new Uint8Array(0), new Uint8Array(31), new Uint8Array(33)]) {
      assert.throws(
        () => checkInclusion(native, { ...claim, leafHash: hash, root: hash }),
        refused,
      );
      assert.throws(() => checkInclusion(native, { ...claim, root: hash }), refused);
    }
  });

  it('refuses a consistency claim with any bit changed', () => {
    fc.assert(
      fc.property(consistency, bits, (claim, bit) => {
        checkConsistency(native, claim);
        const broken = [
          { ...claim, fromRoot: flipped(claim.fromRoot, bit) },
          { ...claim, toRoot: flipped(claim.toRoot, bit) },
          ...brokenPaths(claim.path, bit).map((path) => ({ ...claim, path })),
        ];
        for (const other of broken) assert.throws(() => checkConsistency(native, other), refused);
      }),
    );
  });

  it('refuses another older size, and a newer size in which the path differs', () => {
    fc.assert(
      fc.property(consistency, fc.integer({ min: 1, max: MAX }), (claim, size) => {
        if (size !== claim.from) {
          assert.throws(() => checkConsistency(native, { ...claim, from: size }), refused);
        }
        const check = () => checkConsistency(native, { ...claim, to: size });
        if (sameShape(claim, size)) check();
        else assert.throws(check, refused);
      }),
      { numRuns: 500 },
    );
  });

  it('accepts an empty path from size 0 and between equal sizes only', () => {
    const roots = { fromRoot: EMPTY_ROOT, toRoot: oracle.root(5) };
    const path = [oracle.root(5)];
    checkConsistency(native, { from: 0, to: 5, ...roots, path: [] });
    checkConsistency(native, { from: 0, to: 0, ...roots, toRoot: EMPTY_ROOT, path: [] });
    for (const claim of [
      { from: 0, to: 5, ...roots, path },
      { from: 0, to: 5, ...roots, fromRoot: oracle.root(5), path: [] },
      { from: 0, to: 0, ...roots, path: [] },
      { from: 5, to: 5, ...roots, path: [] },
      { from: 5, to: 5, fromRoot: oracle.root(5), toRoot: oracle.root(5), path },
      { from: 5, to: 0, fromRoot: oracle.root(5), toRoot: EMPTY_ROOT, path: [] },
      { from: 2, to: 5, fromRoot: oracle.root(2), toRoot: oracle.root(5), path: [] },
      { from: -1, to: 5, ...roots, path: [] },
      { from: 0, to: 2 ** 53, ...roots, path: [] },
    ]) {
      assert.throws(() => checkConsistency(native, claim), refused);
    }
  });
});

/** Whether the proof from `claim.from` to `to` starts at the same subtree and turns to the same sides. */
function sameShape(claim: ConsistencyClaim, to: number): boolean {
  const { from } = claim;
  if (to < from || (to === from) !== (claim.to === from)) return false;
  let width = 1;
  while (from % (2 * width) === 0) width *= 2;
  return sides(from - width, from, to) === sides(from - width, from, claim.to);
}

interface InclusionVector {
  name: string;
  leafIdx: number | string;
  treeSize: number | string;
  root: string;
  leafHash: string;
  proof: string[] | null;
  wantErr: boolean;
}

interface ConsistencyVector {
  name: string;
  size1: number | string;
  size2: number | string;
  root1: string;
  root2: string;
  proof: string[] | null;
  wantErr: boolean;
}

function verdict(check: () => void, wantErr: boolean, name: string): void {
  if (wantErr) assert.throws(check, refused, name);
  else assert.doesNotThrow(check, name);
}

describe('log/merkle/check: transparency-dev vectors (need ../shared/vectors/merkle)', () => {
  const inclusions = sharedVectors('merkle/inclusion.json') as InclusionVector[] | null;
  const consistencies = sharedVectors('merkle/consistency.json') as ConsistencyVector[] | null;
  before(function () {
    if (inclusions === null || consistencies === null) this.skip();
  });

  it('decides 98 inclusion cases', () => {
    for (const vector of inclusions ?? []) {
      const claim = {
        // Numbers above 2^53 - 1 are strings; converted to numbers they are not safe integers either.
        index: Number(vector.leafIdx),
        size: Number(vector.treeSize),
        leafHash: fromBase64(vector.leafHash),
        path: (vector.proof ?? []).map((hash) => fromBase64(hash)),
        root: fromBase64(vector.root),
      };
      verdict(() => checkInclusion(native, claim), vector.wantErr, vector.name);
    }
    assert.equal(inclusions?.length, 98);
  });

  it('decides 98 consistency cases', () => {
    // In the vectors, size1 = 0 is always an error. Here an empty path is accepted for it, but at least one root in
    // these cases is not the root of any tree, so they are refused as well.
    for (const vector of consistencies ?? []) {
      const claim = {
        from: Number(vector.size1),
        to: Number(vector.size2),
        fromRoot: fromBase64(vector.root1),
        toRoot: fromBase64(vector.root2),
        path: (vector.proof ?? []).map((hash) => fromBase64(hash)),
      };
      verdict(() => checkConsistency(native, claim), vector.wantErr, vector.name);
    }
    assert.equal(consistencies?.length, 98);
  });
});
