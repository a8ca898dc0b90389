// log/cose: another CBOR library reads what it writes, and it refuses encodings that are not deterministic.

import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { decode, encode } from 'cbor2';
import fc from 'fast-check';
import {
  ALG,
  coseKey,
  coseThumbprint,
  decodeCbor,
  decodeSign1,
  encodeCbor,
  encodeProtected,
  encodeSign1,
  openInclusion,
  inclusionHeader,
  publicJwk,
  receiptHeader,
  toBeSigned,
  verifyCose,
  withoutUnprotected,
} from '../../../log/cose/portable.ts';
import { native } from '../../../log/index.ts';

describe('log/cose', () => {
  it('rejects a signature by a key that is not a point of its curve', async () => {
    const x = Buffer.alloc(32, 7).toString('base64url');
    const key = { kty: 'EC', crv: 'P-256', x, y: x } as const;
    assert.equal(
      await verifyCose(native, key, ALG.ES256, new Uint8Array(), new Uint8Array(64)),
      false,
    );
  });

  const label = fc.oneof(fc.integer({ min: -70_000, max: 70_000 }), fc.string({ maxLength: 8 }));
  const leaf = fc.oneof(
    fc.integer({ min: -(2 ** 40), max: 2 ** 40 }),
    fc.string({ maxLength: 20 }),
    fc.uint8Array({ maxLength: 40 }),
    fc.boolean(),
    fc.constant(null),
  );
  const value = fc.oneof(leaf, fc.array(leaf, { maxLength: 4 }));
  const headers = fc.array(fc.tuple(label, value), { maxLength: 6 }).map((list) => new Map(list));

  it('writes the same bytes as cbor2 in its deterministic encoding', () => {
    fc.assert(
      fc.property(headers, (map) => {
        const bytes = encodeCbor(map);
        assert.deepEqual(bytes, encode(map, { cde: true }));
        assert.deepEqual(decodeCbor(bytes), map);
      }),
    );
  });

  it('reads every message that it writes', () => {
    fc.assert(
      fc.property(
        headers,
        headers,
        fc.option(fc.uint8Array({ maxLength: 100 })),
        (first, second, payload) => {
          const protectedBytes = encodeProtected(first);
          const signature = new Uint8Array(64).fill(7);
          const bytes = encodeSign1({ protectedBytes, unprotected: second, payload, signature });
          const message = decodeSign1(bytes);
          assert.deepEqual(message.protected, first);
          assert.deepEqual(message.unprotected, second);
          assert.deepEqual(message.payload, payload);
          assert.deepEqual(encodeSign1(message), bytes);
          assert.equal(decodeSign1(withoutUnprotected(message)).unprotected.size, 0);
        },
      ),
    );
  });

  for (const [what, hex] of [
    ['an integer that is longer than needed', '1801'],
    ['keys out of order', 'a202000100'],
    ['a key twice', 'a201000100'],
    ['a list without an end', '9f01ff'],
    ['NaN', 'f97e00'],
    ['an integer written as a float', 'f93c00'],
    ['undefined', 'f7'],
    ['another tag', 'c101'],
    ['bytes after the item', '0101'],
    ['half an item', '8301'],
    ['nothing', ''],
  ] as const) {
    it(`refuses ${what}`, () => {
      const bytes = Buffer.from(hex, 'hex');
      assert.throws(() => decodeCbor(bytes), { name: 'LogError', code: 'encoding_invalid' });
    });
  }

  it('refuses deeply nested input without exhausting the stack', () => {
    const deep = Buffer.alloc(200_000, 0x81);
    assert.throws(() => decodeCbor(deep), {
      code: 'encoding_invalid',
      message: /nested too deeply$/,
    });
  });

  it('throws only its own errors for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        for (const message of [bytes, Buffer.concat([Buffer.from('d284', 'hex'), bytes])]) {
          try {
            assert.deepEqual(encodeSign1(decodeSign1(message)), new Uint8Array(message));
          } catch (error) {
            assert.equal((error as { code?: string }).code, 'encoding_invalid');
          }
        }
      }),
    );
  });

  for (const [type, alg, other] of [
    ['P-256', ALG.ES256, ALG.Ed25519],
    ['Ed25519', ALG.Ed25519, ALG.ES256],
  ] as const) {
    it(`accepts a signature of ${type} with its own algorithm only, and with no bit changed`, async () => {
      const { privateKey, publicKey } =
        type === 'P-256'
          ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
          : generateKeyPairSync('ed25519');
      const jwk = publicJwk(publicKey.export({ format: 'jwk' }));
      const signed = toBeSigned(encodeProtected(new Map([[1, alg]])), Buffer.from('payload'));
      const signature = sign(type === 'P-256' ? 'sha256' : null, signed, {
        key: privateKey,
        dsaEncoding: 'ieee-p1363',
      });
      assert.equal(await verifyCose(native, jwk, alg, signed, signature), true);
      assert.equal(await verifyCose(native, jwk, other, signed, signature), false);
      assert.equal(await verifyCose(native, jwk, alg, signed, signature.subarray(1)), false);
      for (let at = 0; at < 64; at += 9) {
        const changed = Buffer.from(signature);
        changed[at] = (changed[at] ?? 0) ^ 1;
        assert.equal(await verifyCose(native, jwk, alg, signed, changed), false);
      }
      const key = decode<Map<number, unknown>>(encodeCbor(coseKey(native, jwk)), {
        preferMap: true,
      });
      assert.deepEqual(Buffer.from(key.get(-2) as Uint8Array), Buffer.from(jwk.x, 'base64url'));
      assert.deepEqual(key.get(2), coseThumbprint(native, jwk));
    });
  }

  it('computes the thumbprint of RFC 9679', () => {
    // RFC 9679 §6 (example): the key of its appendix and its SHA-256 thumbprint.
    const x = '65eda5a12577c2bae829437fe338701a10aaa375e1bb5b5de108de439c08551d';
    const y = '1e52ed75701163f7f9e40ddf9f341b3dc9ba860af7e0ca7ca7e9eecd0084d19c';
    const base64url = (hex: string): string => Buffer.from(hex, 'hex').toString('base64url');
    const jwk = publicJwk({ kty: 'EC', crv: 'P-256', x: base64url(x), y: base64url(y) });
    assert.equal(
      Buffer.from(coseThumbprint(native, jwk)).toString('hex'),
      '496bd8afadf307e5b08c64b0421bf9dc01528a344a43bda88fadd1669da253ec',
    );
  });

  it('refuses keys of other types, private keys and non-canonical encodings', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const jwk = privateKey.export({ format: 'jwk' });
    for (const bad of [
      null,
      jwk,
      { ...jwk, d: undefined, crv: 'P-384' },
      { kty: 'RSA', n: 'AQAB', e: 'AQAB' },
      { kty: 'OKP', crv: 'Ed25519', x: 'AA' },
      { kty: 'OKP', crv: 'Ed25519', x: `${'A'.repeat(42)}B` },
    ]) {
      assert.throws(() => publicJwk(bad), { code: 'key_invalid' });
    }
  });

  it('computes the signed root from a leaf, and refuses another payload', () => {
    const leaves = ['a', 'b'].map((text) => native.sha256(Buffer.from(`\0${text}`)));
    const [left = new Uint8Array(), right = new Uint8Array()] = leaves;
    const root = native.sha256(Buffer.concat([Buffer.of(1), left, right]));
    const protectedBytes = receiptHeader({
      alg: ALG.Ed25519,
      kid: new Uint8Array(32),
      iss: 'https://log.example',
      sub: 'log.example/log/live/1',
    });
    const unprotected = inclusionHeader({ size: 2, index: 0, path: [right] });
    const message = (payload: Uint8Array | null) =>
      decodeSign1(encodeSign1({ protectedBytes, unprotected, payload, signature: root }));
    const opened = openInclusion(native, message(null), left);
    assert.deepEqual(opened.root, root);
    assert.deepEqual(opened.signed, toBeSigned(protectedBytes, root));
    assert.deepEqual(openInclusion(native, message(root), left).root, root);
    assert.throws(() => openInclusion(native, message(left), left), { code: 'proof_invalid' });
  });
});
