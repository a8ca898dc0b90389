// ML-DSA-44 (FIPS 204), with an empty context: the second signature of checkpoints and the cosignatures of witnesses
// that are ready for quantum computers. C2SP tlog-cosignature, type 0x06. Browser-safe.
//
// It is slow in JavaScript: 3 ms for a verification and 14 ms for a signature. A server therefore runs it in a worker
// (ml-dsa-pool.ts); a verifier of single documents calls it directly.

import { ml_dsa44 } from '@noble/post-quantum/ml-dsa.js';

export const ML_DSA_KEY_BYTES = 1312;
export const ML_DSA_SIGNATURE_BYTES = 2420;

/** Whether the signature is valid. False for a key or a signature of another length. */
export function verifyMlDsa(
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  if (publicKey.length !== ML_DSA_KEY_BYTES) return false;
  if (signature.length !== ML_DSA_SIGNATURE_BYTES) return false;
  try {
    return ml_dsa44.verify(signature, message, publicKey);
  } catch {
    return false; // noble throws for encodings that FIPS 204 rejects
  }
}

/** The public key of a seed of 32 bytes. */
export const mlDsaPublicKey = (seed: Uint8Array): Uint8Array => ml_dsa44.keygen(seed).publicKey;

/** A hedged signature by the key of a seed. */
export const signMlDsa = (seed: Uint8Array, message: Uint8Array): Uint8Array =>
  ml_dsa44.sign(message, ml_dsa44.keygen(seed).secretKey);
