// Bytes, hashes, canonical JSON and keys, written from log/FORMAT.md, the RFCs and C2SP alone. Nothing in this folder
// except its test imports the product, so that both cannot share an error.
// Read in this order: bytes.ts, tree.ts, story.ts (writes logs), host.ts (serves them), lies/ (breaks rules),
// judge.ts (checks the findings of a monitor).

import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

export type Value = null | boolean | number | string | readonly Value[] | Members;
export interface Members {
  readonly [name: string]: Value | undefined;
}

export const sha256 = (...parts: readonly Uint8Array[]): Buffer => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

export const tagged = (tag: number, ...parts: readonly Uint8Array[]): Buffer =>
  sha256(Buffer.of(tag), ...parts);

/** u16 length and the UTF-8 bytes of a string. */
export function lp(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

export function u64(n: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(n));
  return bytes;
}

/** RFC 8785, for I-JSON without fractions; members that are undefined are left out. */
export function jcs(value: Value | undefined): string {
  if (Array.isArray(value)) return `[${(value as readonly Value[]).map(jcs).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = value as Members;
    const names = Object.keys(members).filter((name) => members[name] !== undefined);
    // The default sort order is by UTF-16 code units, as RFC 8785 requires.
    return `{${names
      .sort()
      .map((name) => `${JSON.stringify(name)}:${jcs(members[name])}`)
      .join(',')}}`;
  }
  return JSON.stringify(value);
}

/** An Ed25519 key. */
export interface Key {
  readonly secret: KeyObject;
  /** 32 bytes. */
  readonly publicKey: Buffer;
  readonly jwk: { readonly kty: string; readonly crv: string; readonly x: string };
  /** RFC 7638 thumbprint. */
  readonly kid: string;
}

const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');

/** The key whose seed is one byte 32 times. */
export function keyOf(seed: number): Key {
  const der = Buffer.concat([PKCS8, Buffer.alloc(32, seed)]);
  const secret = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const spki = createPublicKey(secret).export({ format: 'der', type: 'spki' });
  const publicKey = spki.subarray(-32);
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: publicKey.toString('base64url') };
  const kid = sha256(Buffer.from(jcs(jwk))).toString('base64url');
  return { secret, publicKey, jwk, kid };
}

export const signed = (key: Key, message: string): Buffer =>
  sign(null, Buffer.from(message, 'utf8'), key.secret);

export function holds(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const der = Buffer.concat([SPKI, publicKey]);
  return verify(
    null,
    message,
    createPublicKey({ key: der, format: 'der', type: 'spki' }),
    signature,
  );
}

/** C2SP signed-note: the first 32 bits of SHA-256(name ‖ LF ‖ type ‖ public key). */
function keyId(name: string, { publicKey }: Key): Buffer {
  return sha256(Buffer.from(`${name}\n`), Buffer.of(1), publicKey).subarray(0, 4);
}

export function vkeyOf(name: string, key: Key): string {
  const material = Buffer.concat([Buffer.of(1), key.publicKey]).toString('base64');
  return `${name}+${keyId(name, key).toString('hex')}+${material}`;
}

/** A note of a text that ends in a newline, signed by the key under this name. */
export function noteOf(text: string, name: string, key: Key): string {
  const signature = Buffer.concat([keyId(name, key), signed(key, text)]).toString('base64');
  return `${text}\n\u2014 ${name} ${signature}\n`;
}
