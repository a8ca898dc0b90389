// Libsodium, from the optional package sodium-native. It makes and verifies the same Ed25519 signatures as OpenSSL, and
// makes the same ciphertexts of ChaCha20-Poly1305, in less time. Where the package cannot be loaded (a platform without
// a prebuilt binary, or an installation without optional packages), node:crypto does the work. Server only.

import type { KeyObject } from 'node:crypto';
import { createRequire } from 'node:module';

/** The functions of sodium-native that are used. Each checks the lengths of its buffers and throws if one is wrong. */
export interface Sodium {
  readonly sodium_malloc: (bytes: number) => Buffer;
  readonly sodium_memzero: (buffer: Uint8Array) => void;
  readonly crypto_sign_seed_keypair: (
    publicKey: Uint8Array,
    secretKey: Buffer,
    seed: Uint8Array,
  ) => void;
  readonly crypto_sign_detached: (
    signature: Uint8Array,
    message: Uint8Array,
    secretKey: Buffer,
  ) => void;
  readonly crypto_sign_verify_detached: (
    signature: Uint8Array,
    message: Uint8Array,
    publicKey: Uint8Array,
  ) => boolean;
  readonly crypto_aead_chacha20poly1305_ietf_encrypt_detached: (
    ciphertext: Uint8Array,
    tag: Uint8Array,
    message: Uint8Array,
    associated: Uint8Array,
    none: null,
    nonce: Uint8Array,
    key: Uint8Array,
  ) => void;
}

function load(): Sodium | null {
  try {
    return createRequire(import.meta.url)('sodium-native') as Sodium;
  } catch {
    return null;
  }
}

/** libsodium, or null where it cannot be loaded. */
export const sodium = load();

/**
 * Returns a function that signs by an Ed25519 private key. The key is copied into memory of libsodium, which is locked
 * and is not part of the V8 heap.
 *
 * @returns writes the signature of a message (64 bytes) into the given buffer
 */
export function sodiumSigner(
  { sodium_malloc, sodium_memzero, crypto_sign_seed_keypair, crypto_sign_detached }: Sodium,
  key: KeyObject,
): (message: Uint8Array, signature: Uint8Array) => void {
  const { d } = key.export({ format: 'jwk' });
  if (d === undefined) throw new Error('an Ed25519 private key has a member d');
  const seed = Buffer.from(d, 'base64url');
  const secretKey = sodium_malloc(64);
  crypto_sign_seed_keypair(new Uint8Array(32), secretKey, seed);
  sodium_memzero(seed);
  return (message, signature) => {
    crypto_sign_detached(signature, message, secretKey);
  };
}
