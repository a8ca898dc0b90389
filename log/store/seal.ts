// A checksum behind every value that no hash of the log covers: LevelDB reads a damaged block as if it
// were good, and what is read here would be signed. Entries and tiles have their hashes.

import { crc32 } from 'node:zlib';
import { LogError } from '../errors.ts';
import { ENTRY, TILE } from './layout.ts';

const CRC_BYTES = 4;

const hashed = (key: Uint8Array): boolean => key[0] === ENTRY || key[0] === TILE;

/** The value as it is stored: itself and, where no hash covers it, its checksum. */
export function seal(key: Uint8Array, value: Uint8Array): Uint8Array {
  return hashed(key) ? value : sealRow(key, value);
}

/** The value of a stored one; `store_corrupt` when either its key or it was damaged. */
export function unseal(key: Uint8Array, sealed: Uint8Array): Uint8Array {
  return hashed(key) ? sealed : unsealRow(key, sealed, String.fromCharCode(key[0] ?? 0));
}

/** The value, then CRC-32 of key and value. */
export function sealRow(key: Uint8Array, value: Uint8Array): Uint8Array {
  // The key stands before the value, so that one call sums both; what is stored begins behind it.
  const { length } = key;
  const summed = Buffer.allocUnsafe(length + value.length + CRC_BYTES);
  summed.set(key);
  summed.set(value, length);
  const end = length + value.length;
  summed.writeUInt32BE(crc32(summed.subarray(0, end)), end);
  return summed.subarray(length);
}

/** The value of a sealed one; `store_corrupt`, naming the kind of row, when its key or it was damaged. */
export function unsealRow(key: Uint8Array, sealed: Uint8Array, kind: string): Uint8Array {
  const length = sealed.length - CRC_BYTES;
  if (length >= 0) {
    const value = sealed.subarray(0, length);
    const view = new DataView(sealed.buffer, sealed.byteOffset);
    if (view.getUint32(length) === crc32(value, crc32(key))) return value;
  }
  throw new LogError(
    'store_corrupt',
    `a row of kind ${kind} is damaged: stop, keep a copy, and restore from a backup or a mirror`,
  );
}
