// What the product gets in place of node:crypto: the same functions, and random values of the world's seed.

import * as real from 'node:crypto';
import type { KeyObject, KeyPairKeyObjectResult, PrivateKeyInput } from 'node:crypto';
import { randomness } from './world.ts';

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

const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');

export function generateKeyPairSync(type: string): KeyPairKeyObjectResult {
  if (type !== 'ed25519') throw new Error(`the simulation makes no key of type ${type}`);
  const key = Buffer.concat([PKCS8_ED25519, randomness().bytes(32)]);
  const privateKey = real.createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  return { privateKey, publicKey: real.createPublicKey(privateKey) };
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
