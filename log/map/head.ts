// Head records: the last entry of each chain and the number of its entries. The head map has the hash of a chain's head
// record under the chain's key. log/FORMAT.md §3. Browser-safe.

import type { Suite } from '../crypto/suite.ts';
import { concat, readU64 } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import type { Head } from '../types.ts';

/** The length of a head record. */
export const HEAD_BYTES = 57;

const VERSION = 1;
const HEAD_TAG = Uint8Array.of(4);
const TWO_32 = 2 ** 32;

/** u8 1 ‖ u64 count ‖ u64 last_index ‖ u64 last_ms ‖ last_leaf_hash[32], 57 bytes. */
export function encodeHead(head: Head): Uint8Array {
  if (head.last_leaf_hash.length !== 32) throw invalid('last_leaf_hash is not 32 bytes');
  // Written into one array, because the committer encodes a head for every chain of every batch.
  const bytes = new Uint8Array(HEAD_BYTES);
  const view = new DataView(bytes.buffer);
  bytes[0] = VERSION;
  putU64(view, 1, head.count, 'count');
  putU64(view, 9, head.last_index, 'last_index');
  putU64(view, 17, head.last_ms, 'last_ms');
  bytes.set(head.last_leaf_hash, 25);
  return bytes;
}

/**
 * Decodes a head record. The leaf hash is a copy.
 *
 * @throws LogError `encoding_invalid` for another length or version, or a number over 2^53 − 1
 */
export function decodeHead(bytes: Uint8Array): Head {
  if (bytes.length !== HEAD_BYTES) {
    throw invalid(`head is ${String(bytes.length)} bytes, not ${String(HEAD_BYTES)}`);
  }
  if (bytes[0] !== VERSION) throw invalid('head has an unknown version');
  return {
    count: readU64(bytes, 1),
    last_index: readU64(bytes, 9),
    last_ms: readU64(bytes, 17),
    last_leaf_hash: bytes.slice(25),
  };
}

/** H(04, head): the value of a chain in the head map, 32 bytes. */
export function vhash(suite: Suite, head: Head): Uint8Array {
  return vhashOf(suite, encodeHead(head));
}

/** `vhash` of an encoded head record. */
export const vhashOf = (suite: Suite, record: Uint8Array): Uint8Array =>
  suite.sha256(concat(HEAD_TAG, record));

function putU64(view: DataView, offset: number, n: number, name: string): void {
  if (!Number.isSafeInteger(n) || n < 0)
    throw invalid(`${name} is not an integer from 0 to 2^53 - 1`);
  view.setUint32(offset, Math.floor(n / TWO_32));
  view.setUint32(offset + 4, n % TWO_32);
}

function invalid(message: string): LogError {
  return new LogError('encoding_invalid', message);
}
