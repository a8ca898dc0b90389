// The hashes of the log tree. RFC 6962 §2.1 = RFC 9162 §2.1.1; log/FORMAT.md, Notation.
// Browser-safe.

import type { Suite } from '../crypto/suite.ts';
import { cut, fromBase64, fromHex, utf8 } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';

/** Size of every hash. */
export const HASH_BYTES = 32;

/** The root of the empty tree: SHA-256 of the empty string. Callers must not change the array. */
export const EMPTY_ROOT = /* @__PURE__ */ fromHex(
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  HASH_BYTES,
);

const LEAF_TAG = 0x00;
/** The first byte of the input of a node hash in the log tree. */
export const NODE_TAG = 0x01;

/** The leaf hash SHA-256(00 ‖ data); `data` are the bytes of an entry. */
export function leafHash(suite: Suite, data: Uint8Array): Uint8Array {
  const input = cut(1 + data.length);
  input[0] = LEAF_TAG;
  input.set(data, 1);
  return suite.sha256(input);
}

/** The input of a leaf hash: 00 ‖ the UTF-8 bytes of the text. */
export function leafOf(text: string): Uint8Array {
  return utf8(`\0${text}`);
}

/** A hash as 32 bytes, or in base64 as in documents. */
export type Node = Uint8Array | string;

/**
 * SHA-256(tag ‖ first ‖ second). The result is written to `into` if given, which may be one of the inputs.
 *
 * @throws LogError `proof_invalid` if one of the hashes does not have 32 bytes
 */
export type PairHash = (
  suite: Suite,
  first: Uint8Array,
  second: Uint8Array,
  into?: Uint8Array,
) => Uint8Array;

// One buffer for all calls, because allocating an array of this size costs more than hashing it.
const pair = new Uint8Array(1 + 2 * HASH_BYTES);
const first = pair.subarray(1, 1 + HASH_BYTES);
const second = pair.subarray(1 + HASH_BYTES);

/** Makes the hash of pairs with a tag: H(tag, first ‖ second) of log/FORMAT.md, Notation. */
export const pairHash =
  (tag: number): PairHash =>
  (suite, left, right, into) => {
    put(left, first);
    put(right, second);
    pair[0] = tag;
    return suite.sha256(pair, into);
  };

/** SHA-256(01 ‖ left ‖ right). */
export const nodeHash = pairHash(NODE_TAG);

/**
 * Hashes a node with its siblings, level by level, and returns the root. No intermediate hash is allocated.
 *
 * @param siblings from the leaf to the root; null is a hash of 32 zero bytes
 * @param isLeft whether the sibling of a level is on the left; called once for each level, in order
 * @throws LogError `proof_invalid` for a hash that does not have 32 bytes
 */
export function climb(
  suite: Suite,
  tag: number,
  node: Uint8Array,
  siblings: readonly (Node | null)[],
  isLeft: (level: number) => boolean,
): Uint8Array {
  const { length } = siblings;
  if (length === 0) return node.slice();
  pair[0] = tag;
  let left = isLeft(0);
  put(node, left ? second : first);
  for (let level = 0; level < length; level += 1) {
    put(siblings[level] ?? null, left ? first : second);
    if (level + 1 < length) {
      left = isLeft(level + 1);
      suite.sha256(pair, left ? second : first);
    }
  }
  return suite.sha256(pair);
}

/**
 * Copies a hash into one half of `pair`. Every input of a node hash passes here, so none has another length than 32.
 */
function put(node: Node | null, half: Uint8Array): void {
  if (node === null) {
    half.fill(0);
    return;
  }
  try {
    if (typeof node === 'string') fromBase64(node, HASH_BYTES, half);
    else if (node.length === HASH_BYTES) half.set(node);
    else throw new RangeError();
  } catch (cause) {
    throw new LogError('proof_invalid', 'a hash is not 32 bytes', { cause });
  }
}
