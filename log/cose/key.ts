// COSE keys: public keys on P-256 and Ed25519 as CBOR, and their names. RFC 9052 §7, RFC 9053 §7, RFC 9679.
// Browser-safe.

import type { Suite } from '../crypto/suite.ts';
import { fromBase64Url, toBase64Url } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import { encodeCbor } from './cbor.ts';
import type { Cbor, CborMap } from './cbor.ts';
import { ALG } from './labels.ts';

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
    // The same refusal as for what is no text.
  }
  throw new LogError('key_invalid', `jwk member ${name} is not 32 bytes in base64url`);
}

/** The algorithm that a key signs with: ES256 or Ed25519. */
export const algOf = ({ kty }: CosePublicJwk): number => (kty === 'EC' ? ALG.ES256 : ALG.Ed25519);

/** Name of a key: SHA-256 over the deterministic encoding of its required members (RFC 9679), 32 bytes. */
export const coseThumbprint = (suite: Suite, jwk: CosePublicJwk): Uint8Array =>
  suite.sha256(encodeCbor(required(jwk)));

/** The COSE_Key of a public key, with its name and algorithm. */
export function coseKey(suite: Suite, jwk: CosePublicJwk): CborMap {
  return new Map<number, Cbor>([
    ...required(jwk),
    [KEY.kid, coseThumbprint(suite, jwk)],
    [KEY.alg, algOf(jwk)],
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
