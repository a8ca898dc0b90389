// CBOR as this project writes and accepts it: deterministic (RFC 8949 §4.2.1), integers, strings, bytes, lists and
// maps, and the one tag of COSE. What does not come out again byte for byte is refused. Browser-safe.

import { decode, encode, rfc8949EncodeOptions, Tagged } from 'cborg';
import { equal } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';

/** Keys of maps: labels. */
export type CborKey = number | string;

/** A map of headers, claims or key parameters. */
export type CborMap = ReadonlyMap<CborKey, Cbor>;

/** What is encoded; decoding gives the same, maps as Map. */
export type Cbor =
  number | bigint | string | boolean | null | Uint8Array | readonly Cbor[] | CborMap | Tagged;

export { Tagged } from 'cborg';

/** Tag of a COSE_Sign1 (RFC 9052 §2). */
export const SIGN1_TAG = 18;

/** The deterministic encoding. */
export function encodeCbor(value: Cbor): Uint8Array {
  const { buffer, byteOffset, length } = encode(value, rfc8949EncodeOptions);
  return new Uint8Array(buffer, byteOffset, length); // never a Buffer: the two compare as different
}

/**
 * One item that fills the bytes. `lax` leaves the order of map keys open: for bytes that are signed as they stand and
 * never written again.
 *
 * @throws LogError `encoding_invalid` for what is not deterministic, for undefined, NaN, infinities and other tags
 */
export function decodeCbor(bytes: Uint8Array, { lax = false } = {}): Cbor {
  let value: Cbor;
  try {
    value = decode(bytes, {
      strict: true,
      useMaps: true,
      rejectDuplicateMapKeys: true,
      allowIndefinite: false,
      allowUndefined: false,
      allowInfinity: false,
      allowNaN: false,
      tags: Tagged.preserve(SIGN1_TAG),
    }) as Cbor;
    if (!lax && !equal(encodeCbor(value), bytes)) {
      throw new Error('encoding is not deterministic');
    }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : 'no reason';
    // The stack ends before the bytes do.
    const told = cause instanceof RangeError ? 'it nests too deeply' : reason;
    throw new LogError('encoding_invalid', `bytes are not the CBOR of this place: ${told}`, {
      cause,
    });
  }
  return value;
}

/** The value as a map; `encoding_invalid` with what it should have been. */
export function mapOf(value: Cbor | undefined, what: string): CborMap {
  if (value instanceof Map) return value as CborMap;
  throw new LogError('encoding_invalid', `${what} is not a map`);
}

/** The value as bytes, of this length where one is given. */
export function bytesOf(value: Cbor | undefined, what: string, length?: number): Uint8Array {
  if (value instanceof Uint8Array && (length === undefined || value.length === length)) {
    return value;
  }
  const size = length === undefined ? 'bytes' : `${String(length)} bytes`;
  throw new LogError('encoding_invalid', `${what} is not ${size}`);
}

/** The value as a list. */
export function listOf(value: Cbor | undefined, what: string): readonly Cbor[] {
  if (Array.isArray(value)) return value as readonly Cbor[];
  throw new LogError('encoding_invalid', `${what} is not a list`);
}

/** The value as a size or index. */
export function countOf(value: Cbor | undefined, what: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new LogError('encoding_invalid', `${what} is not an integer from 0 to 2^53 - 1`);
}
