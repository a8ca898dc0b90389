// Checks the signature of a COSE message on the server: ES256 by OpenSSL, Ed25519 by the house's one acceptance rule.
// RFC 9053 §2.1, §2.2; log/FORMAT.md, Notation.

import { createPublicKey, verify } from 'node:crypto';
import { native } from '../crypto/native.ts';
import { fromBase64Url } from '../encoding/bytes.ts';
import type { CosePublicJwk } from './key.ts';
import { ALG } from './labels.ts';

/** True only when `alg` is one that the key signs with and the signature over the bytes holds. */
export function verifyCose(
  jwk: CosePublicJwk,
  alg: unknown,
  signed: Uint8Array,
  signature: Uint8Array,
): boolean {
  if (signature.length !== 64) return false;
  if (jwk.kty === 'OKP') {
    if (alg !== ALG.Ed25519 && alg !== ALG.EdDSA) return false;
    return native.verify(fromBase64Url(jwk.x, 32), signed, signature);
  }
  if (alg !== ALG.ES256) return false;
  try {
    const key = createPublicKey({ key: { ...jwk }, format: 'jwk' });
    return verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, signature);
  } catch {
    return false; // a point that is not on the curve
  }
}
