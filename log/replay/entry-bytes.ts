// The text of an entry out of bytes that may be anything.

import { isUtf8 } from 'node:buffer';
import { Violation } from './replay.ts';

/**
 * The bytes as text; the same text gives the same bytes again.
 *
 * @throws Violation `entry_json` when they are not UTF-8: decoding would hide what was hashed
 */
export function textOfEntry(bytes: Uint8Array, index: number): string {
  if (!isUtf8(bytes)) {
    throw new Violation({ rule: 'entry_json', detail: 'entry is not UTF-8' }, index, []);
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}
