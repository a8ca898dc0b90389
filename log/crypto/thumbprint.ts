// Ed25519 public keys as JWK (RFC 8037), and the kid of a receipt key, which is its thumbprint (RFC 7638).
// Browser-safe.

import { fromBase64Url, toBase64Url, utf8 } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import type { Suite } from './suite.ts';

/** An Ed25519 public key as in entries, with exactly these members. */
export interface Ed25519Jwk {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  /** 32 bytes in base64url. */
  readonly x: string;
}

/** The JWK of 32 public key bytes. */
export function jwkOfPublicKey(publicKey: Uint8Array): Ed25519Jwk {
  if (publicKey.length !== 32) {
    throw new LogError('key_invalid', `public key is ${publicKey.length} bytes, not 32`);
  }
  return { kty: 'OKP', crv: 'Ed25519', x: toBase64Url(publicKey) };
}

/**
 * The 32 bytes of a JWK, which may have other public members, such as `kid` and `use`.
 *
 * @throws LogError `key_invalid` for another key type, a private key, or an `x` that is not canonical base64url
 */
export function publicKeyOfJwk(jwk: unknown): Uint8Array {
  if (typeof jwk !== 'object' || jwk === null) throw new LogError('key_invalid', 'no jwk object');
  const { kty, crv, x, d } = jwk as Record<string, unknown>;
  if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string') {
    throw new LogError('key_invalid', 'jwk is not an OKP key on Ed25519');
  }
  if (d !== undefined) throw new LogError('key_invalid', 'jwk is a private key');
  try {
    return fromBase64Url(x, 32);
  } catch (cause) {
    throw new LogError('key_invalid', 'jwk member x is not 32 bytes in base64url', { cause });
  }
}

/** RFC 7638 thumbprint (43 base64url characters): the kid of a receipt key. */
export function thumbprint(suite: Suite, jwk: unknown): string {
  return toBase64Url(thumbprintBytes(suite, jwk));
}

/** The 32 bytes of the thumbprint. */
export function thumbprintBytes(suite: Suite, jwk: unknown): Uint8Array {
  publicKeyOfJwk(jwk);
  const { x } = jwk as Ed25519Jwk;
  // RFC 7638 §3: the required members in the order of their names, without white space.
  return suite.sha256(utf8(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`));
}
