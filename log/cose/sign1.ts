// COSE_Sign1, tagged. RFC 9052 §4.2, §4.4. Signing and verifying bytes is the caller's: this puts them together and
// takes them apart. Browser-safe.

import { LogError } from '../errors.ts';
import { bytesOf, decodeCbor, encodeCbor, listOf, mapOf, SIGN1_TAG, Tagged } from './cbor.ts';
import type { CborMap, Cbor } from './cbor.ts';
import type { Suite } from '../crypto/suite.ts';
import { fromBase64Url, toBase64Url } from '../encoding/bytes.ts';
import { Unanswerable } from '../verify/finding.ts';

// Numbers of COSE that this project uses, by name. RFC 9052, 9053, 9360, 9597, 9864, 9942; IANA COSE registries.

/** Header labels. */
export const HEADER = {
  alg: 1,
  content_type: 3,
  kid: 4,
  cwt_claims: 15,
  typ: 16,
  receipts: 394,
  vds: 395,
  vdp: 396,
} as const;

/** CWT claims (RFC 8392) inside label 15. */
export const CLAIM = { iss: 1, sub: 2, iat: 6 } as const;

/** Algorithms; EdDSA is the name that RFC 9864 retires in favour of Ed25519, read and not written. */
export const ALG = { ES256: -7, EdDSA: -8, Ed25519: -19 } as const;

/** The only verifiable data structure: an RFC 9162 tree over SHA-256. */
export const RFC9162_SHA256 = 1;

/** `typ` (RFC 9596) of a receipt of an entry of this log: the profile of log/FORMAT.md §5.6. */
export const RECEIPT_PROFILE = 'application/vnd.actlog.receipt+cose';

/** Proof types of `vdp`. */
export const PROOF = { inclusion: -1, consistency: -2 } as const;

/**
 * Label of our own in the unprotected header of a receipt: the exact bytes of the entry that the proof is of. It only
 * carries them; the proof says whether they are right.
 */
export const ENTRY_LABEL = 'entry';

/** A message taken apart. */
export interface CoseSign1 {
  /** The bytes of the message: the signature covers exactly these. */
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
 * keys in order, since exactly these bytes are signed.
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

// COSE keys: public keys on P-256 and Ed25519 as CBOR, and their names. RFC 9052 §7, RFC 9053 §7, RFC 9679.
// Browser-safe.

/** A public key on P-256. */
export interface P256Jwk {
  readonly kty: 'EC';
  readonly crv: 'P-256';
  /** 32 bytes in base64url, like y. */
  readonly x: string;
  readonly y: string;
}

/** A public key on Ed25519. */
export interface OkpJwk {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  readonly x: string;
}

/** The two kinds of public key that COSE messages of this service are signed with. */
export type CosePublicJwk = P256Jwk | OkpJwk;

const KEY = { kty: 1, kid: 2, alg: 3, crv: -1, x: -2, y: -3 } as const;
const KTY = { OKP: 1, EC2: 2 } as const;
const CRV = { P256: 1, Ed25519: 6 } as const;

/**
 * The public members of a JWK, and nothing else of it.
 *
 * @throws LogError `key_invalid` for another key type, a private key or a second spelling
 */
export function publicJwk(jwk: unknown): CosePublicJwk {
  if (typeof jwk !== 'object' || jwk === null) throw new LogError('key_invalid', 'no jwk object');
  const { kty, crv, x, y, d } = jwk as Record<string, unknown>;
  if (d !== undefined) throw new LogError('key_invalid', 'jwk is a private key');
  if (kty === 'EC' && crv === 'P-256') {
    return { kty, crv, x: coordinate(x, 'x'), y: coordinate(y, 'y') };
  }
  if (kty === 'OKP' && crv === 'Ed25519') return { kty, crv, x: coordinate(x, 'x') };
  throw new LogError('key_invalid', 'jwk is neither an EC key on P-256 nor an OKP key on Ed25519');
}

function coordinate(value: unknown, name: string): string {
  try {
    if (typeof value === 'string') return toBase64Url(fromBase64Url(value, 32));
  } catch {
    // The same error as for bytes that are not text.
  }
  throw new LogError('key_invalid', `jwk member ${name} is not 32 bytes in base64url`);
}

/** The algorithm that a key signs with: ES256 or Ed25519. */
export const algOf = ({ kty }: CosePublicJwk): number => (kty === 'EC' ? ALG.ES256 : ALG.Ed25519);

/** Name of a key: SHA-256 over the deterministic encoding of its required members (RFC 9679), 32 bytes. */
export const coseThumbprint = (suite: Suite, jwk: CosePublicJwk): Uint8Array =>
  suite.sha256(encodeCbor(required(jwk)));

/**
 * The COSE_Key of a public key, with its name. A key on P-256 also names ES256; one on Ed25519 names no algorithm, since
 * libraries that do not know −19 refuse to load a key that does.
 */
export function coseKey(suite: Suite, jwk: CosePublicJwk): CborMap {
  return new Map<number, Cbor>([
    ...required(jwk),
    [KEY.kid, coseThumbprint(suite, jwk)],
    ...(jwk.kty === 'EC' ? [[KEY.alg, ALG.ES256] as const] : []),
  ]);
}

function required(jwk: CosePublicJwk): ReadonlyMap<number, Cbor> {
  const x = fromBase64Url(jwk.x, 32);
  return jwk.kty === 'EC'
    ? new Map<number, Cbor>([
        [KEY.kty, KTY.EC2],
        [KEY.crv, CRV.P256],
        [KEY.x, x],
        [KEY.y, fromBase64Url(jwk.y, 32)],
      ])
    : new Map<number, Cbor>([
        [KEY.kty, KTY.OKP],
        [KEY.crv, CRV.Ed25519],
        [KEY.x, x],
      ]);
}

// Checks the signature of a COSE message: ES256 by WebCrypto, Ed25519 by the suite that the caller passes. RFC 9053
// §2.1, §2.2; log/FORMAT.md, Notation. Browser-safe: Node.js always has WebCrypto, browsers have it on https pages and
// on localhost.

const ES256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/**
 * Whether a signature of 64 bytes over `signed` verifies. False as well for an `alg` that the key does not sign with,
 * for a signature of another length and for a key that is not a point of its curve.
 *
 * @throws Unanswerable for an ES256 signature where the platform has no WebCrypto
 */
export async function verifyCose(
  suite: Suite,
  key: CosePublicJwk,
  alg: unknown,
  signed: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  if (key.kty === 'EC') return alg === ALG.ES256 && verifyES256(key, signed, signature);
  if (alg !== ALG.Ed25519 && alg !== ALG.EdDSA) return false;
  return suite.verify(fromBase64Url(key.x, 32), signed, signature);
}

/**
 * Whether an ES256 signature, r and s of 32 bytes each, verifies. False as well for a signature of another length and
 * for a key that is not a point of the curve.
 *
 * @throws Unanswerable where the platform has no WebCrypto
 */
export async function verifyES256(
  key: P256Jwk,
  signed: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  // The declared type says that `subtle` always exists; a page that was loaded over http has none.
  const { subtle } = globalThis.crypto as { readonly subtle?: SubtleCrypto };
  if (subtle === undefined) throw new Unanswerable('this browser checks ES256 on https pages only');
  let imported: CryptoKey;
  try {
    imported = await subtle.importKey('jwk', { ...key }, ES256, false, ['verify']);
  } catch {
    return false; // not a point of the curve
  }
  // WebCrypto returns false for a signature of another length. The copies have the buffer type that it requires.
  return subtle.verify(ES256, imported, Uint8Array.from(signature), Uint8Array.from(signed));
}
