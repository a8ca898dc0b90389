// The hashes of the log tree. RFC 6962 §2.1 = RFC 9162 §2.1.1; log/FORMAT.md, Notation.
// Browser-safe.

import type { Suite } from '../crypto/suite.ts';
import { fromBase64, fromHex, utf8 } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';

/** Size of every hash. */
export const HASH_BYTES = 32;

/** Root of the log without entries: SHA-256 of nothing. Not to be written to. */
export const EMPTY_ROOT = /* @__PURE__ */ fromHex(
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  HASH_BYTES,
);

const LEAF_TAG = 0x00;
/** Of pairs in the log tree. */
export const NODE_TAG = 0x01;

/** SHA-256(00 ‖ data): data are the bytes of an entry. */
export function leafHash(suite: Suite, data: Uint8Array): Uint8Array {
  const input = new Uint8Array(1 + data.length);
  input[0] = LEAF_TAG;
  input.set(data, 1);
  return suite.sha256(input);
}

/** What leafHash hashes, of a text: 00 ‖ its UTF-8, made at once. */
export function leafOf(text: string): Uint8Array {
  return utf8(`\0${text}`);
}

/** A hash as its 32 bytes, or in base64 as it stands in documents. */
export type Node = Uint8Array | string;

/**
 * SHA-256(tag ‖ first ‖ second) of two hashes, perhaps written over one of them; LogError `proof_invalid` when
 * they are not two of 32 bytes.
 */
export type PairHash = (
  suite: Suite,
  first: Uint8Array,
  second: Uint8Array,
  into?: Uint8Array,
) => Uint8Array;

// One for all that are hashed: making an array of this size costs more than its hash.
const pair = new Uint8Array(1 + 2 * HASH_BYTES);
const first = pair.subarray(1, 1 + HASH_BYTES);
const second = pair.subarray(1 + HASH_BYTES);

/** The hash of pairs under a tag (log/FORMAT.md, Notation). */
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
 * The hash that `siblings`, from the leaf side up, lead to from `node`, as pairs under a tag: each digest is
 * written, and each text decoded, where it is hashed next. `isLeft` tells for each in turn whether it stands left;
 * null is the hash of 32 zero bytes.
 *
 * @throws LogError `proof_invalid` for a hash that is not 32 bytes
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

/** Each hash that is hashed passes here: none has another length, whoever chose it. */
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
