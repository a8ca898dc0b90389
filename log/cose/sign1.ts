// COSE_Sign1, tagged. RFC 9052 §4.2, §4.4. Signing and verifying bytes is the caller's: this puts them together and
// takes them apart. Browser-safe.

import { LogError } from '../errors.ts';
import { bytesOf, decodeCbor, encodeCbor, listOf, mapOf, SIGN1_TAG, Tagged } from './cbor.ts';
import type { CborMap } from './cbor.ts';

/** A message taken apart. */
export interface CoseSign1 {
  /** As they stand in the message: the signature is over exactly these. */
  readonly protectedBytes: Uint8Array;
  readonly protected: CborMap;
  readonly unprotected: CborMap;
  /** Null where it is detached. */
  readonly payload: Uint8Array | null;
  readonly signature: Uint8Array;
}

const NO_HEADERS: CborMap = new Map();
const NO_BYTES = new Uint8Array(0);

/** The bytes of a message. */
export function encodeSign1(
  message: Pick<CoseSign1, 'protectedBytes' | 'payload' | 'signature'> & {
    readonly unprotected?: CborMap;
  },
): Uint8Array {
  const { protectedBytes, unprotected = NO_HEADERS, payload, signature } = message;
  return encodeCbor(new Tagged(SIGN1_TAG, [protectedBytes, unprotected, payload, signature]));
}

/** The bytes of a protected header. */
export const encodeProtected = (headers: CborMap): Uint8Array =>
  headers.size === 0 ? NO_BYTES : encodeCbor(headers);

/**
 * Takes a message apart. The message itself must be in deterministic encoding; the protected header need not have its
 * keys in order, since it is signed as it stands.
 *
 * @throws LogError `encoding_invalid`
 */
export function decodeSign1(bytes: Uint8Array): CoseSign1 {
  const tagged = decodeCbor(bytes);
  if (!(tagged instanceof Tagged)) {
    throw new LogError('encoding_invalid', 'this is no COSE_Sign1 with its tag');
  }
  const parts = listOf(tagged.value as never, 'COSE_Sign1');
  if (parts.length !== 4) throw new LogError('encoding_invalid', 'COSE_Sign1 has not four parts');
  const [header, unprotected, payload, signature] = parts;
  const protectedBytes = bytesOf(header, 'protected header');
  return {
    protectedBytes,
    protected:
      protectedBytes.length === 0
        ? NO_HEADERS
        : mapOf(decodeCbor(protectedBytes, { lax: true }), 'protected header'),
    unprotected: mapOf(unprotected, 'unprotected header'),
    payload: payload === null ? null : bytesOf(payload, 'payload'),
    signature: bytesOf(signature, 'signature'),
  };
}

/** The Sig_structure that is signed: no external data. */
export function toBeSigned(protectedBytes: Uint8Array, payload: Uint8Array): Uint8Array {
  return encodeCbor(['Signature1', protectedBytes, NO_BYTES, payload]);
}

/** The same message with nothing in its unprotected header: what a transparency log registers (RFC 9943). */
export const withoutUnprotected = (message: CoseSign1): Uint8Array =>
  encodeSign1({ ...message, unprotected: NO_HEADERS });
