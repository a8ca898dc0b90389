// Checks proofs about the log tree. RFC 9162 §2.1.3.2 (inclusion) and §2.1.4.2 (consistency); a
// consistency proof from size 0 is empty (C2SP tlog-witness). Browser-safe.
// Every input may come from an attacker, including the indexes and sizes.

import type { Suite } from '../crypto/suite.ts';
import { equal } from '../encoding/bytes.ts';
import { isLogError, LogError } from '../errors.ts';
import { climb, EMPTY_ROOT, HASH_BYTES, nodeHash, NODE_TAG } from './hash.ts';
import type { Node } from './hash.ts';

/** The claim that the leaf at `index` in the tree of `size` has this hash. The path starts at the leaf. */
export interface InclusionClaim {
  readonly index: number;
  readonly size: number;
  readonly leafHash: Uint8Array;
  readonly path: readonly Node[];
}

/** An inclusion claim whose path is not in base64. */
interface BytesClaim extends InclusionClaim {
  readonly path: readonly Uint8Array[];
}

/** The claim that the tree of size `from` is a prefix of the tree of size `to`. */
export interface ConsistencyClaim {
  readonly from: number;
  readonly to: number;
  readonly fromRoot: Uint8Array;
  readonly toRoot: Uint8Array;
  readonly path: readonly Uint8Array[];
}

/** One step of a path: the sibling, its side, and the hash of the parent. */
export interface InclusionStep {
  readonly sibling: Uint8Array;
  /** True when the sibling is the left one of the two. */
  readonly left: boolean;
  readonly node: Uint8Array;
}

/** The root that the path leads to. Throws `proof_invalid` if the length of the path does not fit index and size. */
export function rootOfInclusion(suite: Suite, claim: InclusionClaim): Uint8Array {
  const way = wayOf(claim);
  const root = climb(suite, NODE_TAG, claim.leafHash, claim.path, () => way.step());
  way.end();
  return root;
}

/** The steps from the leaf to the root of an inclusion path, for display. Throws like `rootOfInclusion`. */
export function stepsOfInclusion(suite: Suite, claim: BytesClaim): InclusionStep[] {
  const way = wayOf(claim);
  let node = claim.leafHash;
  const steps = claim.path.map((sibling) => {
    const left = way.step();
    node = left ? nodeHash(suite, sibling, node) : nodeHash(suite, node, sibling);
    return { sibling, left, node };
  });
  way.end();
  return steps;
}

function wayOf({ index, size, leafHash }: InclusionClaim): Way {
  checkSize(index, 'index');
  checkSize(size, 'size');
  if (index >= size) throw refused(`index ${String(index)} is not below size ${String(size)}`);
  checkHash(leafHash, 'leaf hash');
  return new Way(index, size - 1);
}

/** Throws `proof_invalid` unless the path leads from the leaf to exactly this root. */
export function checkInclusion(
  suite: Suite,
  claim: InclusionClaim & { readonly root: Uint8Array },
): void {
  checkHash(claim.root, 'root');
  if (!equal(rootOfInclusion(suite, claim), claim.root)) {
    throw refused('the path does not lead to the root');
  }
}

/** Throws `proof_invalid` unless the path shows that both roots belong to one append-only tree. */
export function checkConsistency(suite: Suite, claim: ConsistencyClaim): void {
  const { from, to, fromRoot, toRoot, path } = claim;
  checkSize(from, 'from');
  checkSize(to, 'to');
  if (from > to) throw refused(`from ${String(from)} is over to ${String(to)}`);
  if ((from === 0 && !equal(fromRoot, EMPTY_ROOT)) || (to === 0 && !equal(toRoot, EMPTY_ROOT))) {
    throw refused('the root of size 0 is not the root of the empty tree');
  }
  if (from === to) {
    // Nothing is hashed, so the roots are only compared with each other.
    if (!equal(fromRoot, toRoot))
      throw refused('from and to are the same size and have different roots');
  } else {
    checkHash(fromRoot, 'root of from');
    checkHash(toRoot, 'root of to');
  }
  if (from === 0 || from === to) {
    if (path.length > 0)
      throw refused('the path from size 0, or between equal sizes, is not empty');
    return;
  }
  checkGrowth(suite, claim);
}

/**
 * The root at size `from` that a consistency path proves to be in the tree of `toRoot`; null if the path does not lead
 * to `toRoot`, and if `from` is a power of two, whose root the path leaves out.
 */
export function provenPrefix(
  suite: Suite,
  claim: Omit<ConsistencyClaim, 'fromRoot'>,
): Uint8Array | null {
  const { from, to, toRoot, path } = claim;
  if (from < 1 || from >= to || isPowerOfTwo(from)) return null;
  try {
    const roots = rootsOfGrowth(suite, { from, to, fromRoot: EMPTY_ROOT, path });
    return equal(roots.toRoot, toRoot) ? roots.fromRoot : null;
  } catch (error) {
    if (isLogError(error)) return null;
    throw error;
  }
}

function isPowerOfTwo(n: number): boolean {
  let odd = n;
  while (odd % 2 === 0) odd /= 2;
  return odd === 1;
}

function checkGrowth(suite: Suite, claim: ConsistencyClaim): void {
  const { fromRoot, toRoot } = rootsOfGrowth(suite, claim);
  if (!equal(fromRoot, claim.fromRoot)) throw refused('the path does not lead to the older root');
  if (!equal(toRoot, claim.toRoot)) throw refused('the path does not lead to the newer root');
}

/** RFC 9162 §2.1.4.2 for 0 < from < to: both roots that the path leads to. */
function rootsOfGrowth(
  suite: Suite,
  claim: Omit<ConsistencyClaim, 'toRoot'>,
): { readonly fromRoot: Uint8Array; readonly toRoot: Uint8Array } {
  const way = new Way(claim.from - 1, claim.to - 1);
  way.skipRight();
  // If `from` is a power of two, its tree is a subtree of that of `to`, and its root is the first node of the path,
  // which the proof leaves out.
  const [first, ...rest] = way.atLeft() ? [claim.fromRoot, ...claim.path] : claim.path;
  if (first === undefined) throw refused('the path is empty');
  let fromRoot = first;
  let toRoot = first;
  for (const sibling of rest) {
    if (way.step()) {
      fromRoot = nodeHash(suite, sibling, fromRoot);
      toRoot = nodeHash(suite, sibling, toRoot);
    } else {
      toRoot = nodeHash(suite, toRoot, sibling);
    }
  }
  way.end();
  return { fromRoot, toRoot };
}

/**
 * The pair (fn, sn) of RFC 9162: the index of a node and that of the last node of its level, on the way to the root.
 */
class Way {
  #node: number;
  #last: number;

  constructor(node: number, last: number) {
    this.#node = node;
    this.#last = last;
  }

  /** Goes up by one sibling; true if that sibling is on the left. */
  step(): boolean {
    if (this.#last === 0) throw refused('the path is too long');
    const left = this.#node % 2 === 1 || this.#node === this.#last;
    if (left) {
      // The last node of a level, if it has no sibling, is also a node of the level above, until it is a right child.
      while (this.#node % 2 === 0 && this.#node !== 0) this.#up();
    }
    this.#up();
    return left;
  }

  /** Goes up as long as the node is a right child, because its parent then lies completely within the older tree. */
  skipRight(): void {
    while (this.#node % 2 === 1) this.#up();
  }

  atLeft(): boolean {
    return this.#node === 0;
  }

  end(): void {
    if (this.#last !== 0) throw refused('the path is too short');
  }

  // A division instead of a shift, because sizes go up to 2^53 - 1.
  #up(): void {
    this.#node = Math.floor(this.#node / 2);
    this.#last = Math.floor(this.#last / 2);
  }
}

function checkSize(n: number, what: string): void {
  if (!Number.isSafeInteger(n) || n < 0) throw refused(`${what} is not an integer to 2^53 - 1`);
}

function checkHash(hash: Uint8Array, what: string): void {
  if (hash.length !== HASH_BYTES) {
    throw refused(`${what} is ${String(hash.length)} bytes, not ${String(HASH_BYTES)}`);
  }
}

function refused(message: string): LogError {
  return new LogError('proof_invalid', message);
}
