// Ed25519 public keys as JWK and the name of a receipt key (RFC 8037, RFC 7638). Browser-safe.

import { fromBase64Url, toBase64Url, utf8 } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import type { Suite } from './suite.ts';

/** An Ed25519 public key as it stands in the log: exactly these members. */
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
 * The 32 bytes of a JWK, which may carry other public members (kid, use, …).
 *
 * @throws LogError `key_invalid` for another key type, a private key or a second spelling of x.
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

/** Its 32 bytes. */
export function thumbprintBytes(suite: Suite, jwk: unknown): Uint8Array {
  publicKeyOfJwk(jwk);
  const { x } = jwk as Ed25519Jwk;
  // RFC 7638 §3: the required members in the order of their names, nothing between them.
  return suite.sha256(utf8(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`));
}
