// The hashes of the log tree. RFC 6962 §2.1 = RFC 9162 §2.1.1; formats.md, table of tags.
// Browser-safe.

import type { Suite } from '../crypto/suite.ts';
import { fromHex } from '../encoding/bytes.ts';

/** Size of every hash. */
export const HASH_BYTES = 32;

/** Root of the log without entries: SHA-256 of nothing. Not to be written to. */
export const EMPTY_ROOT = fromHex(
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  HASH_BYTES,
);

const LEAF_TAG = 0x00;
const NODE_TAG = 0x01;

/** SHA-256(00 ‖ data): data are the bytes of an entry. */
export function leafHash(suite: Suite, data: Uint8Array): Uint8Array {
  const input = new Uint8Array(1 + data.length);
  input[0] = LEAF_TAG;
  input.set(data, 1);
  return suite.sha256(input);
}

/** SHA-256(01 ‖ left ‖ right). */
export function nodeHash(suite: Suite, left: Uint8Array, right: Uint8Array): Uint8Array {
  const input = new Uint8Array(1 + 2 * HASH_BYTES);
  input[0] = NODE_TAG;
  input.set(left, 1);
  input.set(right, 1 + HASH_BYTES);
  return suite.sha256(input);
}
