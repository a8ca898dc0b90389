// Both suites against C2SP/CCTV's edge cases (log/FORMAT.md, Notation).

import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { Point } from '@noble/ed25519';
import fc from 'fast-check';
import { isAcceptable } from '../../../log/crypto/acceptance.ts';
import { native, openssl } from '../../../log/crypto/native.ts';
import { portable } from '../../../log/crypto/portable.ts';
import { sodium, sodiumSigner } from '../../../log/crypto/sodium.ts';
import type { Suite } from '../../../log/crypto/suite.ts';
import { sharedVectors } from '../../support/vectors.ts';

const SUITES: readonly (readonly [string, Suite])[] = [
  [sodium === null ? 'native, without libsodium' : 'libsodium', native],
  ['openssl', openssl],
  ['portable', portable],
];

interface Vector {
  readonly number: number;
  readonly key: string;
  readonly sig: string;
  readonly msg: string;
  readonly flags: readonly string[] | null;
}

/**
 * Every vector satisfies the equation under some interpretation; its flags name those that differ. This verifier
 * refuses: A or R of low order or not canonical; a residue of low order (the equation holds only after multiplication
 * by the cofactor); k computed over A and R encoded again (this verifier hashes the bytes as received). It accepts A
 * or R with a low order component (mixed order) if the equation holds.
 */
const REFUSED = new Set([
  'low_order_A',
  'low_order_R',
  'non_canonical_A',
  'non_canonical_R',
  'low_order_residue',
  'reencoded_k',
]);
const HARMLESS = new Set(['low_order_component_A', 'low_order_component_R']);

const fromHex = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'));
const L = Point.CURVE().n;

describe('ed25519 acceptance rule', () => {
  describe('C2SP/CCTV vectors (skipped if ../shared/vectors is missing)', () => {
    let vectors: readonly Vector[] = [];
    before(function () {
      const file = sharedVectors('ed25519/vectors.json');
      if (file === null) this.skip();
      vectors = file as Vector[];
    });

    it('have only known flags, and both results', () => {
      const flags = new Set(vectors.flatMap((vector) => vector.flags ?? []));
      for (const flag of flags) assert.ok(REFUSED.has(flag) || HARMLESS.has(flag), flag);
      const valid = vectors.filter((v) => !(v.flags ?? []).some((flag) => REFUSED.has(flag)));
      assert.equal(vectors.length, 914);
      assert.equal(valid.length, 43);
    });

    for (const [name, suite] of SUITES) {
      it(`have the expected result with suite ${name}`, () => {
        for (const { number, key, msg, sig, flags } of vectors) {
          const expected = !(flags ?? []).some((flag) => REFUSED.has(flag));
          const verdict = suite.verify(fromHex(key), Buffer.from(msg, 'utf8'), fromHex(sig));
          assert.equal(verdict, expected, `vector ${String(number)}: ${(flags ?? []).join(' ')}`);
        }
      });
    }
  });

  it('refuses all eight points of low order as A and as R, and their non-canonical encodings', () => {
    // A point of order 8: the multiple by L of a point of full order.
    let generator: Point | undefined;
    for (let y = 2; generator === undefined; y += 1) {
      const bytes = new Uint8Array(32);
      bytes[0] = y;
      try {
        const candidate = Point.fromBytes(bytes, false);
        const torsion = candidate.multiply(L - 1n, false).add(candidate);
        if (!torsion.double().double().is0()) generator = torsion;
      } catch {
        // not on the curve
      }
    }
    const good = Point.BASE.toBytes();
    const one = new Uint8Array(32).fill(1, 0, 1);
    let point = Point.ZERO;
    const seen = new Set<string>();
    for (let i = 0; i < 8; i += 1, point = point.add(generator)) {
      assert.ok(point.isSmallOrder());
      seen.add(point.toHex());
      for (const flip of [0, 0x80]) {
        const bytes = point.toBytes();
        bytes[31] = (bytes[31] ?? 0) ^ flip;
        assert.equal(isAcceptable(bytes, Buffer.concat([good, one])), false);
        assert.equal(isAcceptable(good, Buffer.concat([bytes, one])), false);
      }
    }
    assert.equal(seen.size, 8);
    assert.equal(isAcceptable(good, Buffer.concat([good, one])), true);
  });

  it('refuses y >= p, and accepts the largest y < p that is not of low order', () => {
    const good = Point.BASE.toBytes();
    const tail = new Uint8Array(32);
    for (const sign of [0x7f, 0xff]) {
      for (let low = 0; low < 256; low += 1) {
        const bytes = new Uint8Array(32).fill(0xff);
        bytes[0] = low;
        bytes[31] = sign;
        // p = …ed; p − 1 = …ec is the point of order 2.
        assert.equal(isAcceptable(good, Buffer.concat([bytes, tail])), low < 0xec, String(low));
      }
    }
  });

  it('refuses S = L, S + L, and wrong lengths', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const x = publicKey.export({ format: 'jwk' }).x ?? '';
    const key = Uint8Array.from(Buffer.from(x, 'base64url'));
    const message = Buffer.from('message');
    const signature = Uint8Array.from(sign(null, message, privateKey));
    const lifted = Uint8Array.from(signature);
    let s = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`) + L;
    for (let i = 32; i < 64; i += 1, s >>= 8n) lifted[i] = Number(s & 255n);
    const order = Uint8Array.from(signature);
    order.set(Buffer.from(L.toString(16).padStart(64, '0'), 'hex').reverse(), 32);
    for (const [name, suite] of SUITES) {
      assert.equal(suite.verify(key, message, signature), true, name);
      assert.equal(suite.verify(key, message, lifted), false, name);
      assert.equal(suite.verify(key, message, order), false, name);
      assert.equal(suite.verify(key.subarray(1), message, signature), false, name);
      assert.equal(suite.verify(key, message, signature.subarray(1)), false, name);
      assert.equal(suite.verify(key, message, Buffer.concat([signature, signature])), false, name);
      assert.equal(suite.verify(new Uint8Array(0), message, new Uint8Array(0)), false, name);
    }
  });

  it('gives the same result in both suites for changed bytes and random keys, on the curve or not', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const x = publicKey.export({ format: 'jwk' }).x ?? '';
    const key = Uint8Array.from(Buffer.from(x, 'base64url'));
    const bit = fc.option(fc.integer({ min: 0, max: 96 * 8 - 1 }));
    const some = fc.option(fc.uint8Array({ minLength: 32, maxLength: 32 }));
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), bit, some, (message, flip, other) => {
        const both = Buffer.concat([other ?? key, sign(null, message, privateKey)]);
        if (flip !== null) both[flip >> 3] = (both[flip >> 3] ?? 0) ^ (1 << (flip & 7));
        const [k, s] = [both.subarray(0, 32), both.subarray(32)];
        const expected = flip === null && other === null;
        assert.equal(native.verify(k, message, s), expected);
        assert.equal(portable.verify(k, message, s), expected);
      }),
      { numRuns: 100 },
    );
  });
});

/** A deterministic generator of numbers below 2^32 (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
}

const scalarOf = (bytes: Uint8Array): bigint =>
  BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`) % L;

const bytesOf = (scalar: bigint): Buffer =>
  Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex').reverse();

interface Case {
  readonly key: Uint8Array;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

/** A signature whose A and R have the given components of low order. It is valid if these cancel each other. */
function withTorsion(a: bigint, r: bigint, message: Uint8Array, low: [Point, Point]): Case {
  const key = Point.BASE.multiply(a).add(low[0]).toBytes();
  const point = Point.BASE.multiply(r).add(low[1]).toBytes();
  const digest = createHash('sha512').update(point).update(key).update(message).digest();
  const s = (r + scalarOf(digest) * a) % L;
  return { key, message, signature: Buffer.concat([point, bytesOf(s)]) };
}

describe('libsodium and OpenSSL', () => {
  const count = Number(process.env['ACTLOG_ODD_SIGNATURES'] ?? 10_000);

  before(function () {
    // An optional dependency, installed if npm has a binary for the platform.
    if (sodium === null) this.skip();
  });

  it('sign identically', () => {
    if (sodium === null) assert.fail();
    const { privateKey } = generateKeyPairSync('ed25519');
    const signInto = sodiumSigner(sodium, privateKey);
    for (let length = 0; length < 300; length += 7) {
      const message = new Uint8Array(length).fill(length);
      const signature = new Uint8Array(64);
      signInto(message, signature);
      assert.deepEqual(Buffer.from(signature), sign(null, message, privateKey));
    }
  });

  it(`agree on ${String(count)} unusual signatures`, () => {
    const next = seeded(20261125);
    const bytes = (length: number): Buffer =>
      Buffer.from(Array.from({ length }, () => next() & 255));
    const order8 = Point.fromHex(
      'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
    );
    const low = Array.from({ length: 8 }, (_, i) =>
      i === 0 ? Point.ZERO : order8.multiply(BigInt(i), false),
    );
    const lowPoint = (): Point => low[next() % 8] ?? Point.ZERO;
    const bases = Array.from({ length: 400 }, (_, i) =>
      withTorsion(
        scalarOf(bytes(32)) || 1n,
        scalarOf(bytes(32)) || 1n,
        bytes(next() % 200),
        i % 4 === 0 ? [Point.ZERO, Point.ZERO] : [lowPoint(), lowPoint()],
      ),
    );
    const base = (): Case => bases[next() % bases.length]!;
    const accepted = { true: 0, false: 0 };
    for (let i = 0; i < count; i += 1) {
      const { key, message, signature } = base();
      const all = Buffer.concat([key, signature, message]);
      switch (next() % 8) {
        case 0:
          break;
        case 1: // S + L, with or without an overflow of 253 bits
          bytesOf(scalarOf(signature.subarray(32)) + L).copy(all, 64);
          break;
        case 2: // another signature, key or message
          Buffer.from(base().signature).copy(all, 32);
          break;
        case 3:
          Buffer.from(lowPoint().toBytes()).copy(all, next() % 2 === 0 ? 0 : 32);
          break;
        case 4: // y >= p
          Buffer.alloc(32, 0xff).copy(all, next() % 2 === 0 ? 0 : 32);
          all[next() % 2 === 0 ? 0 : 32] = 0xe0 + (next() % 32);
          break;
        case 5: // S of 0, 1 or L − 1
          bytesOf([0n, 1n, L - 1n][next() % 3] ?? 0n).copy(all, 64);
          break;
        default: {
          const at = next() % all.length;
          all[at] = (all[at] ?? 0) ^ (1 << (next() % 8));
        }
      }
      const [k, s, m] = [all.subarray(0, 32), all.subarray(32, 96), all.subarray(96)];
      const verdict = native.verify(k, m, s);
      assert.equal(openssl.verify(k, m, s), verdict, all.toString('hex'));
      accepted[`${verdict}`] += 1;
    }
    // Both results must occur often enough for the comparison to mean something.
    assert.ok(accepted.true > count / 50 && accepted.false > count / 2, JSON.stringify(accepted));
  });
});

describe('sha256 of both suites', () => {
  it('returns the same bytes as a Uint8Array', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        assert.deepEqual(native.sha256(bytes), portable.sha256(bytes));
        for (const suite of [native, portable]) {
          const into = new Uint8Array(32);
          assert.equal(suite.sha256(bytes, into), into);
          assert.deepEqual(into, native.sha256(bytes));
        }
      }),
    );
    const empty = Buffer.from(native.sha256(new Uint8Array(0))).toString('hex');
    assert.equal(empty, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  });
});
