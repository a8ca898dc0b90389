// Signers with known keys, from PKCS #8 of a 32-byte seed (RFC 8410 §7).

import { createPrivateKey } from 'node:crypto';
import { Signer } from '../../../log/crypto/keys.ts';

const PKCS8_HEAD = '302e020100300506032b657004220420';

/** The signer of a seed, or of one byte repeated 32 times as in the absence vectors. */
export function seededSigner(seed: Uint8Array | number): Signer {
  const bytes = typeof seed === 'number' ? Buffer.alloc(32, seed) : Buffer.from(seed);
  const key = Buffer.concat([Buffer.from(PKCS8_HEAD, 'hex'), bytes]);
  return new Signer(createPrivateKey({ key, format: 'der', type: 'pkcs8' }));
}
