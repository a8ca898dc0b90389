// The bytes of a batch of writes, as a round carries them: for each write its type (1: put, 0: delete), the length of
// the key (u16), the key, and for a put the length of the value (u32) and the value.

import { LogError } from '../errors.ts';
import type { Write } from '../store/store.ts';

/** Encodes writes, in order. */
export function encodeBatch(writes: readonly Write[]): Buffer {
  let length = 0;
  for (const one of writes) {
    length += 3 + one.key.length + (one.type === 'put' ? 4 + one.value.length : 0);
  }
  const bytes = Buffer.allocUnsafe(length);
  let at = 0;
  for (const one of writes) {
    at = bytes.writeUInt8(one.type === 'put' ? 1 : 0, at);
    at = bytes.writeUInt16BE(one.key.length, at);
    bytes.set(one.key, at);
    at += one.key.length;
    if (one.type === 'del') continue;
    at = bytes.writeUInt32BE(one.value.length, at);
    bytes.set(one.value, at);
    at += one.value.length;
  }
  return bytes;
}

/** Decodes a batch; keys and values are views of its bytes. Throws `store_corrupt` if it is cut off. */
export function decodeBatch(bytes: Buffer): Write[] {
  const writes: Write[] = [];
  let at = 0;
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new LogError('store_corrupt', 'a round is cut off');
    return bytes.subarray(at, (at += length));
  };
  while (at < bytes.length) {
    const put = take(1)[0] === 1;
    const key = take(take(2).readUInt16BE());
    if (put) writes.push({ type: 'put', key, value: take(take(4).readUInt32BE()) });
    else writes.push({ type: 'del', key });
  }
  return writes;
}
