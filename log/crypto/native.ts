// The suite of the server: SHA-256 by node:crypto (OpenSSL), and Ed25519 by libsodium, or by OpenSSL where libsodium
// cannot be loaded. Both verify without the cofactor. They differ in the encodings of keys and signatures that they
// accept, so acceptance.ts checks those first (log/FORMAT.md, Notation). At the end, random bytes in small pieces.

import { createPublicKey, hash, verify, randomFillSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { isAcceptable } from './acceptance.ts';
import { sodium, type Sodium } from './sodium.ts';
import type { Suite } from './suite.ts';

/** Cache of imported keys, because importing one costs more than a tenth of a verification. */
const imported = new LRUCache<string, KeyObject>({ max: 1024 });

function importKey(publicKey: Uint8Array): KeyObject {
  // A view instead of a copy. The base64url text is both the key of the cache and the member of the JWK.
  const x = Buffer.from(publicKey.buffer, publicKey.byteOffset, 32).toString('base64url');
  let key = imported.get(x);
  if (key === undefined) {
    key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    imported.set(x, key);
  }
  return key;
}

/** The bytes of a digest in the encoding `binary` of node:crypto, a string of characters below 256. */
export function digestBytes(
  digest: string,
  bytes: Uint8Array = new Uint8Array(digest.length),
): Uint8Array {
  for (let i = 0; i < bytes.length; i += 1) bytes[i] = digest.charCodeAt(i);
  return bytes;
}

/** SHA-256 and Ed25519 by node:crypto. */
export const openssl: Suite = {
  sha256(bytes, into) {
    // Copying from a string costs a third of getting a Buffer, whose memory is outside the V8 heap.
    return digestBytes(hash('sha256', bytes, 'binary'), into);
  },

  verify(publicKey, message, signature) {
    if (!isAcceptable(publicKey, signature)) return false;
    try {
      return verify(null, message, importKey(publicKey), signature);
    } catch {
      return false; // OpenSSL reports some points off the curve as an error
    }
  },
};

/** SHA-256 by node:crypto and Ed25519 by libsodium. */
const withSodium = ({ crypto_sign_verify_detached: holds }: Sodium): Suite => ({
  sha256: (bytes, into) => openssl.sha256(bytes, into),
  verify: (publicKey, message, signature) =>
    isAcceptable(publicKey, signature) && holds(signature, message, publicKey),
});

/** The suite with the faster library that can be loaded. */
export const native: Suite = sodium === null ? openssl : withSodium(sodium);

// Random bytes in small pieces. One call to the generator serves hundreds of salts, keys and ids; a call for each would
// cost as much as the hash that the salt goes into.

const pool = Buffer.alloc(16_384);
let used = pool.length;

/** Returns `count` bytes of the system's random generator, at most 16,384. The pool keeps no copy of them. */
export function randomPiece(count: number): Buffer {
  if (used + count > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const piece = Buffer.from(pool.subarray(used, used + count));
  pool.fill(0, used, used + count);
  used += count;
  return piece;
}
