// The suite of the server: node:crypto (OpenSSL). Its Ed25519 equation has no cofactor, but it takes
// keys that are not canonical or of low order, so acceptance.ts decides first (log/FORMAT.md, Notation).

import { createPublicKey, hash, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { isAcceptable } from './acceptance.ts';
import type { Suite } from './suite.ts';

/** Imported keys by their bytes: an import costs more than a tenth of a verification. */
const imported = new LRUCache<string, KeyObject>({ max: 1024 });

function importKey(publicKey: Uint8Array): KeyObject {
  // A view, not a copy; base64url is both the cache's key and the JWK's member.
  const x = Buffer.from(publicKey.buffer, publicKey.byteOffset, 32).toString('base64url');
  let key = imported.get(x);
  if (key === undefined) {
    key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    imported.set(x, key);
  }
  return key;
}

/** The bytes of a digest that node:crypto gave as `binary`: a string of characters below 256. */
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
    // As a string, and copied: with that it costs a third of a Buffer, whose memory is not the heap's.
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
