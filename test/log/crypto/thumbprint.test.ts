// Key ids of receipt keys, against RFC 8037 Appendix A.

import assert from 'node:assert/strict';
import { native } from '../../../log/crypto/native.ts';
import { portable } from '../../../log/crypto/portable.ts';
import { jwkOfPublicKey, publicKeyOfJwk, thumbprint } from '../../../log/crypto/thumbprint.ts';

// RFC 8037 Appendix A.2 and A.3.
const JWK = {
  kty: 'OKP',
  crv: 'Ed25519',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
} as const;
const KID = 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k';

describe('thumbprint', () => {
  it('is that of RFC 8037 A.3 in both suites, with any other members in the key', () => {
    assert.equal(thumbprint(native, JWK), KID);
    assert.equal(thumbprint(portable, { use: 'sig', ...JWK, kid: 'x' }), KID);
  });

  it('converts a JWK to bytes and back', () => {
    assert.deepEqual(jwkOfPublicKey(publicKeyOfJwk(JWK)), JWK);
  });

  const refused: readonly (readonly [string, unknown])[] = [
    ['null', null],
    ['a string', 'x'],
    ['no members', {}],
    ['X25519', { ...JWK, crv: 'X25519' }],
    ['a private key', { ...JWK, d: JWK.x }],
    ['a short x', { ...JWK, x: JWK.x.slice(1) }],
    ['padding', { ...JWK, x: `${JWK.x}=` }],
    ['spare bits', { ...JWK, x: `${JWK.x.slice(0, -1)}p` }],
    ['x that is no string', { ...JWK, x: 7 }],
  ];
  for (const [name, jwk] of refused) {
    it(`refuses ${name}`, () => {
      assert.throws(() => thumbprint(native, jwk), { name: 'LogError', code: 'key_invalid' });
    });
  }

  it('refuses public keys that are not 32 bytes', () => {
    assert.throws(() => jwkOfPublicKey(new Uint8Array(31)), { code: 'key_invalid' });
  });
});
