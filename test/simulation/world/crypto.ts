// What the product gets in place of node:crypto: the same functions, and random values of the world's seed.

import * as real from 'node:crypto';
import type { KeyObject, KeyPairKeyObjectResult, PrivateKeyInput } from 'node:crypto';
import { randomness, world } from './world.ts';
import type { Latency } from './world.ts';

export * from 'node:crypto';

export const randomBytes = (count: number): Buffer => randomness().bytes(count);

/** How often a buffer was filled. */
export const filled = { times: 0 };

export function randomFillSync<T extends Uint8Array>(target: T): T {
  filled.times += 1;
  randomness().fill(target);
  return target;
}

export function randomInt(low: number, high?: number): number {
  const [from, to] = high === undefined ? [0, low] : [low, high];
  return from + randomness().int(to - from);
}

export function randomUUID(): string {
  const id = randomness().bytes(16);
  id.writeUInt8(((id[6] ?? 0) & 0x0f) | 0x40, 6);
  id.writeUInt8(((id[8] ?? 0) & 0x3f) | 0x80, 8);
  return id.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** One hash in place of the costly derivation. */
export function scrypt(
  password: string,
  salt: Uint8Array,
  length: number,
  _cost: object,
  done: (error: Error | null, key: Buffer) => void,
): void {
  const key = real.createHash('sha512').update(password).update(salt).digest();
  world().immediate(() => {
    done(null, key.subarray(0, length));
  });
}

const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');

export function generateKeyPairSync(type: string): KeyPairKeyObjectResult {
  if (type !== 'ed25519' && type !== 'ec') {
    throw new Error(`the simulation makes no key of type ${type}`);
  }
  const privateKey = type === 'ec' ? p256() : ed25519();
  return { privateKey, publicKey: real.createPublicKey(privateKey) };
}

function ed25519(): KeyObject {
  const key = Buffer.concat([PKCS8_ED25519, randomness().bytes(32)]);
  return real.createPrivateKey({ key, format: 'der', type: 'pkcs8' });
}

/** Bytes of a coordinate of P-256, and of its private keys. */
const P256_BYTES = 32;

function p256(): KeyObject {
  const pair = real.createECDH('prime256v1');
  const secret = randomness().bytes(P256_BYTES);
  // Below the order of the group, which begins with 32 bits of one.
  secret.writeUInt8(0, 0);
  pair.setPrivateKey(secret);
  const point = pair.getPublicKey();
  const at = (from: number): string =>
    point.subarray(from, from + P256_BYTES).toString('base64url');
  const d = secret.toString('base64url');
  const key = { kty: 'EC', crv: 'P-256', d, x: at(1), y: at(1 + P256_BYTES) };
  return real.createPrivateKey({ key, format: 'jwk' });
}

const parsed = new Map<string, KeyObject>();

/** Remembers the keys of texts, because a run starts the log many times with the same files. */
export function createPrivateKey(input: PrivateKeyInput): KeyObject {
  const text = input.key.toString('latin1');
  let key = parsed.get(text);
  if (key === undefined) {
    key = real.createPrivateKey(input);
    if (parsed.size > 1000) parsed.clear();
    parsed.set(text, key);
  }
  return key;
}

const THREAD: Latency = { from_us: 20, to_us: 200, slow: 0.01 };

/** With a callback it signs on a thread in node:crypto, and here after a while. */
export function sign(
  algorithm: string | null,
  data: NodeJS.ArrayBufferView,
  key: real.SignKeyObjectInput,
  done?: (error: Error | null, signature: Buffer) => void,
): Buffer | undefined {
  if (done === undefined) return real.sign(algorithm, data, key);
  world().after(world().duration(THREAD), () => {
    done(null, real.sign(algorithm, data, key));
  });
  return undefined;
}
