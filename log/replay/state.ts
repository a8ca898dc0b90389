// A replay at rest: one file of a JSON header and the heads of all chains, so that a monitor goes on
// where it stopped. Private to this version of the code; a file it does not know means from entry 0.

import { hash } from 'node:crypto';
import { concat, equal, fromUtf8, readU64, u64, utf8 } from '../encoding/bytes.ts';
import type { JsonObject } from '../encoding/json-types.ts';
import { LogError } from '../errors.ts';

const MAGIC = utf8('actlog replay 1\n');
const HASH_BYTES = 32;

/** magic ‖ u64 length ‖ JSON header ‖ heads ‖ SHA-256 of all before. */
export function encodeState(header: JsonObject, heads: Uint8Array): Uint8Array {
  const text = utf8(JSON.stringify(header));
  const body = concat(MAGIC, u64(text.length), text, heads);
  return concat(body, hash('sha256', body, 'buffer'));
}

/** The two parts; `store_corrupt` when the file is another or damaged. The heads are a view. */
export function decodeState(bytes: Uint8Array): { header: JsonObject; heads: Uint8Array } {
  const body = bytes.subarray(0, Math.max(0, bytes.length - HASH_BYTES));
  if (body.length < MAGIC.length + 8 || !equal(body.subarray(0, MAGIC.length), MAGIC)) {
    throw new LogError('store_corrupt', 'replay state is of another version');
  }
  if (!equal(hash('sha256', body, 'buffer'), bytes.subarray(body.length))) {
    throw new LogError('store_corrupt', 'replay state is damaged');
  }
  const start = MAGIC.length + 8;
  const end = start + readU64(body, MAGIC.length);
  const header = JSON.parse(fromUtf8(body.subarray(start, end))) as JsonObject;
  return { header, heads: body.subarray(end) };
}
