// The subset of CBOR that this project writes and accepts: integers, strings, bytes, lists, maps and the tag of
// COSE_Sign1, in deterministic encoding (RFC 8949 §4.2.1). Bytes that would be encoded differently are refused.
// Browser-safe.

import { decode, encode, rfc8949EncodeOptions, Tagged } from 'cborg';
import { equal } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';

/** A key of a map: in COSE, a label. */
export type CborKey = number | string;

/** A map of headers, claims or key parameters. */
export type CborMap = ReadonlyMap<CborKey, Cbor>;

/** A CBOR value. Maps are decoded as `Map`. */
export type Cbor =
  number | bigint | string | boolean | null | Uint8Array | readonly Cbor[] | CborMap | Tagged;

export { Tagged } from 'cborg';

/** The tag of a COSE_Sign1 message (RFC 9052 §2). */
export const SIGN1_TAG = 18;

/** The deterministic encoding. */
export function encodeCbor(value: Cbor): Uint8Array {
  const { buffer, byteOffset, length } = encode(value, rfc8949EncodeOptions);
  return new Uint8Array(buffer, byteOffset, length); // not a Buffer, which deepEqual does not equate with a Uint8Array
}

/**
 * Decodes the bytes of exactly one value.
 *
 * @param options.lax accepts map keys in any order, for protected headers, which are signed as they are
 * @throws LogError `encoding_invalid` for an encoding that is not deterministic, undefined, NaN, infinities, other tags
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
    // A RangeError is a stack overflow.
    const why = cause instanceof RangeError ? 'it is nested too deeply' : reason;
    throw new LogError('encoding_invalid', `bytes are not the expected CBOR: ${why}`, {
      cause,
    });
  }
  return value;
}

/** The value as a map; throws `encoding_invalid` with `what` for another value. */
export function mapOf(value: Cbor | undefined, what: string): CborMap {
  if (value instanceof Map) return value as CborMap;
  throw new LogError('encoding_invalid', `${what} is not a map`);
}

/** The value as bytes, of `length` if given. Throws like `mapOf`. */
export function bytesOf(value: Cbor | undefined, what: string, length?: number): Uint8Array {
  if (value instanceof Uint8Array && (length === undefined || value.length === length)) {
    return value;
  }
  const size = length === undefined ? 'bytes' : `${String(length)} bytes`;
  throw new LogError('encoding_invalid', `${what} is not ${size}`);
}

/** The value as a list. Throws like `mapOf`. */
export function listOf(value: Cbor | undefined, what: string): readonly Cbor[] {
  if (Array.isArray(value)) return value as readonly Cbor[];
  throw new LogError('encoding_invalid', `${what} is not a list`);
}

/** The value as an integer from 0 to 2^53 − 1. Throws like `mapOf`. */
export function countOf(value: Cbor | undefined, what: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new LogError('encoding_invalid', `${what} is not an integer from 0 to 2^53 - 1`);
}
