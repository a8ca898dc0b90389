// Ed25519 keys with known seeds, as the vectors use them.

import { createPrivateKey, sign } from 'node:crypto';
import { native } from '../../log/crypto/native.ts';
import { jwkOfPublicKey, thumbprint } from '../../log/crypto/thumbprint.ts';
import type { Ed25519Jwk } from '../../log/crypto/thumbprint.ts';
import type { NoteSigner } from '../../log/note/note.ts';

/** An Ed25519 key whose seed is one byte 32 times, as in the vectors. */
export interface SeedKey extends NoteSigner {
  readonly jwk: Ed25519Jwk;
  readonly kid: string;
}

/** The key of 32 times this byte. */
export function seedKey(byte: number): SeedKey {
  const seed = new Uint8Array(32).fill(byte);
  const key = createPrivateKey({
    key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]),
    format: 'der',
    type: 'pkcs8',
  });
  const { x } = key.export({ format: 'jwk' }) as { x: string };
  const publicKey = new Uint8Array(Buffer.from(x, 'base64url'));
  const jwk = jwkOfPublicKey(publicKey);
  const kid = thumbprint(native, jwk);
  return { publicKey, jwk, kid, sign: (message) => new Uint8Array(sign(null, message, key)) };
}
