// The suite of the server: node:crypto (OpenSSL). OpenSSL verifies without the cofactor, but accepts keys that are not
// canonical or of low order, so acceptance.ts checks the encodings first (log/FORMAT.md, Notation). At the end, random
// bytes in small pieces.

import { createPublicKey, hash, verify, randomFillSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { isAcceptable } from './acceptance.ts';
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
export const native: Suite = {
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
