// The log tree as a monitor needs it: only the roots of its perfect subtrees. RFC 9162 §2.1.1.
// Independent of the tiles of a log that it may be run beside.

import type { Suite } from '../crypto/suite.ts';
import { EMPTY_ROOT, nodeHash } from '../merkle/hash.ts';

/** A tree that grows leaf by leaf and knows its root. */
export class GrowingTree {
  readonly #suite: Suite;
  /** Roots of the perfect subtrees from the left, the sizes being the bits of #size. */
  readonly #peaks: Uint8Array[];
  #size: number;

  /** Starts empty, or from the peaks that a tree of this size had. */
  constructor(suite: Suite, size = 0, peaks: readonly Uint8Array[] = []) {
    this.#suite = suite;
    this.#size = size;
    this.#peaks = [...peaks];
  }

  get size(): number {
    return this.#size;
  }

  /** Roots of the perfect subtrees, the largest first. */
  peaks(): readonly Uint8Array[] {
    return this.#peaks;
  }

  append(leafHash: Uint8Array): void {
    let node = leafHash;
    // Two trees of one height become one, as a carry runs through the bits of the size.
    for (let carry = this.#size; carry % 2 === 1; carry = (carry - 1) / 2) {
      node = nodeHash(this.#suite, this.#peaks.pop()!, node);
    }
    this.#peaks.push(node);
    this.#size += 1;
  }

  root(): Uint8Array {
    if (this.#peaks.length === 0) return EMPTY_ROOT.slice();
    return this.#peaks.reduceRight((right, left) => nodeHash(this.#suite, left, right));
  }
}
