// What the product gets in place of jose: the same functions, of which the thumbprint of a key (RFC 7638) does not wait
// for a thread.

import { hash } from 'node:crypto';
import type { JWK } from 'jose';

export * from 'jose';

/** The members of a key that its thumbprint covers, in the order of RFC 7638 §3.2. */
const MEMBERS = ['crv', 'kty', 'x', 'y'] as const;

export function calculateJwkThumbprint(jwk: JWK): Promise<string> {
  const members = MEMBERS.flatMap((name) => (jwk[name] === undefined ? [] : [[name, jwk[name]]]));
  return Promise.resolve(hash('sha256', JSON.stringify(Object.fromEntries(members)), 'base64url'));
}
