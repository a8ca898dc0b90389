// The hashes of the log tree. RFC 6962 §2.1 = RFC 9162 §2.1.1; formats.md, table of tags.
// Browser-safe.

import type { Suite } from '../crypto/suite.ts';
import { fromHex, utf8 } from '../encoding/bytes.ts';

/** Size of every hash. */
export const HASH_BYTES = 32;

/** Root of the log without entries: SHA-256 of nothing. Not to be written to. */
export const EMPTY_ROOT = fromHex(
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  HASH_BYTES,
);

const LEAF_TAG = 0x00;

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

/**
 * SHA-256(tag ‖ first ‖ second) of two hashes, perhaps written over one of them; a RangeError when they are
 * not two of 32 bytes.
 */
export type PairHash = (
  suite: Suite,
  first: Uint8Array,
  second: Uint8Array,
  into?: Uint8Array,
) => Uint8Array;

// One for all that are hashed: making an array of this size costs more than its hash.
const pair = new Uint8Array(1 + 2 * HASH_BYTES);

/** The hash of pairs under a tag (formats.md, table of tags). */
export const pairHash =
  (tag: number): PairHash =>
  (suite, first, second, into) => {
    if (first.length !== HASH_BYTES || second.length !== HASH_BYTES) throw new RangeError();
    pair[0] = tag;
    pair.set(first, 1);
    pair.set(second, 1 + HASH_BYTES);
    return suite.sha256(pair, into);
  };

/** SHA-256(01 ‖ left ‖ right). */
export const nodeHash = pairHash(0x01);
