// Private keys: the PKCS #8 files that hold them, readable only by their owner, and the signer that uses them
// (gateway/API.md §2.3; RFC 5958, RFC 8018, RFC 7914). Server only.

import {
  createCipheriv,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  randomBytes,
  scryptSync,
  sign,
} from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, readdir, readFile } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { LogError } from '../errors.ts';
import { writeDurableFile } from '../store/durable-file.ts';
import { native } from './native.ts';
import { publicKeyOfJwk, thumbprint } from './thumbprint.ts';
import type { Ed25519Jwk } from './thumbprint.ts';

/** Larger files are refused unread. */
const MAX_KEY_FILE_BYTES = 4096;

/** Ed25519, or ECDSA on P-256 with SHA-256 where an external format requires it. */
export type KeyAlgorithm = 'Ed25519' | 'ES256';

/** Generates a private key; Ed25519 by default. */
export function generateKey(algorithm: KeyAlgorithm = 'Ed25519'): KeyObject {
  return algorithm === 'Ed25519'
    ? generateKeyPairSync('ed25519').privateKey
    : generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}

/** The public JWK of a private or public Ed25519 key; throws `key_invalid` for another type. */
export function jwkOf(key: KeyObject): Ed25519Jwk {
  const { crv, x } = (key.type === 'private' ? createPublicKey(key) : key).export({
    format: 'jwk',
  });
  if (crv !== 'Ed25519' || x === undefined) throw new LogError('key_invalid', 'key is not Ed25519');
  return { kty: 'OKP', crv, x };
}

/** A private Ed25519 key with its kid and public key. */
export class Signer {
  /** RFC 7638 thumbprint. */
  readonly kid: string;
  readonly jwk: Ed25519Jwk;
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly #key: KeyObject;

  constructor(key: KeyObject) {
    if (key.type !== 'private') throw new LogError('key_invalid', 'key is not a private key');
    this.jwk = jwkOf(key);
    this.kid = thumbprint(native, this.jwk);
    this.publicKey = publicKeyOfJwk(this.jwk);
    this.#key = key;
  }

  /** A secret of 32 bytes that follows from the private key and a purpose (RFC 5869). */
  derive(purpose: string): Uint8Array {
    const { d = '' } = this.#key.export({ format: 'jwk' });
    const seed = Buffer.from(d, 'base64url');
    const derived = new Uint8Array(hkdfSync('sha256', seed, new Uint8Array(0), purpose, 32));
    seed.fill(0);
    return derived;
  }

  /** 64 bytes; about 45 µs on the calling thread. Batches go to the sign pool. */
  sign(message: Uint8Array): Uint8Array {
    const signature = sign(null, message, this.#key);
    return new Uint8Array(signature.buffer, signature.byteOffset, signature.length);
  }
}

/**
 * Cost of the key that encrypts a key file (RFC 7914): 16 MiB and about 0.2 s of a core for each guess. OpenSSL's
 * limit of 32 MiB for scrypt is the reason for the small N and the larger p.
 */
const SCRYPT = { N: 16_384, r: 8, p: 5 };

const OID_PBES2 = '2a864886f70d01050d';
const OID_SCRYPT = '2b06010401da47040b';
const OID_AES_256_CBC = '60864801650304012a';

/** A DER element of fewer than 128 bytes, which holds for every element of the header. */
const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.of(tag, body.length), body]);
};
const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const octets = (bytes: Uint8Array): Buffer => der(0x04, bytes);
/** A positive INTEGER below 2^31 whose first byte is below 128. */
const integer = (value: number): Buffer =>
  der(0x02, Buffer.from(value.toString(16).padStart(value < 256 ? 2 : 4, '0'), 'hex'));

/**
 * A private key as the text of its file: PKCS #8 (RFC 5958), with a passphrase encrypted by PBES2 with scrypt and
 * AES-256-CBC (RFC 8018 §6.2, RFC 7914 §7). `openssl pkey -in FILE` reads both forms.
 */
function pemOf(key: KeyObject, passphrase?: string): string {
  if (passphrase === undefined) return key.export({ type: 'pkcs8', format: 'pem' }) as string;
  const plain = key.export({ type: 'pkcs8', format: 'der' });
  const salt = randomBytes(16);
  const iv = randomBytes(16);
  const secret = scryptSync(passphrase, salt, 32, SCRYPT);
  const cipher = createCipheriv('aes-256-cbc', secret, iv);
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
  plain.fill(0);
  secret.fill(0);
  const { N, r, p } = SCRYPT;
  const kdf = sequence(oid(OID_SCRYPT), sequence(octets(salt), integer(N), integer(r), integer(p)));
  const scheme = sequence(oid(OID_AES_256_CBC), octets(iv));
  const header = sequence(oid(OID_PBES2), sequence(kdf, scheme));
  const body = [header, longOctets(sealed)];
  const length = body.reduce((sum, part) => sum + part.length, 0);
  const text = Buffer.concat([Buffer.of(0x30), lengthOf(length), ...body]).toString('base64');
  const lines = text.match(/.{1,64}/g) ?? [];
  return [
    '-----BEGIN ENCRYPTED PRIVATE KEY-----',
    ...lines,
    '-----END ENCRYPTED PRIVATE KEY-----',
    '',
  ].join('\n');
}

/** A DER length below 65,536. */
const lengthOf = (length: number): Buffer =>
  length < 128
    ? Buffer.of(length)
    : length < 256
      ? Buffer.of(0x81, length)
      : Buffer.of(0x82, length >> 8, length & 255);

const longOctets = (bytes: Uint8Array): Buffer =>
  Buffer.concat([Buffer.of(0x04), lengthOf(bytes.length), bytes]);

/** Whether the text of a key file is encrypted with a key by scrypt, as `pemOf` writes it. */
function isMemoryHard(pem: Buffer): boolean {
  const [, body = ''] =
    /^-----BEGIN ENCRYPTED PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END/.exec(
      pem.toString('latin1'),
    ) ?? [];
  return Buffer.from(body, 'base64').includes(oid(OID_SCRYPT));
}

/**
 * Writes a new key file with mode 0600, encrypted if a passphrase is given (`pemOf`). It is durable when the promise
 * resolves. An existing file is never replaced: the promise rejects with EEXIST.
 */
export async function writeKeyFile(
  path: string,
  key: KeyObject,
  passphrase?: string,
): Promise<void> {
  if (passphrase === '') throw new LogError('key_invalid', 'passphrase is empty');
  const pem = pemOf(key, passphrase);
  await writeDurableFile(path, pem, { secret: true, replace: false });
  if (passphrase !== undefined) known.set(macOf(Buffer.from(pem), passphrase), key);
}

/**
 * Whether the text of a key file is empty or ends before its key does: an earlier release wrote key files under their
 * final names, and a kill left such files.
 */
const isUnfinished = (pem: Buffer): boolean =>
  pem.every((byte) => byte === 0) ||
  ('-----BEGIN '.startsWith(pem.toString('latin1', 0, 11)) &&
    !/-----END [A-Z ]+-----/.test(pem.toString('latin1')));

/**
 * Keys that were encrypted or decrypted, by a MAC over the passphrase and the file. A start reads a file twice, and a node
 * of a cluster reads all files at each change of its role; each decryption takes 0.2 s of a core.
 */
const known = new LRUCache<string, KeyObject>({ max: 256 });
const macKey = randomBytes(32);

const macOf = (pem: Buffer, passphrase: string): string =>
  createHmac('sha256', macKey).update(`${passphrase}\0`).update(pem).digest('hex');

/** The key of a file. Throws an error of OpenSSL if the passphrase is wrong or the file is no key. */
function decrypted(pem: Buffer, passphrase: string): KeyObject {
  if (!pem.includes('ENCRYPTED')) return createPrivateKey({ key: pem, format: 'pem', passphrase });
  const mac = macOf(pem, passphrase);
  const found = known.get(mac) ?? createPrivateKey({ key: pem, format: 'pem', passphrase });
  known.set(mac, found);
  return found;
}

/**
 * Reads a key file.
 *
 * @throws LogError `key_invalid` if other users may read or write the file, if the passphrase is wrong or missing, or
 *   if
 *   the file has no key of the algorithm, or of one of them. Errors of the file system, such as ENOENT, are rethrown.
 */
export async function readKeyFile(
  path: string,
  passphrase?: string,
  algorithm: KeyAlgorithm | readonly KeyAlgorithm[] = 'Ed25519',
): Promise<KeyObject> {
  const pem = await readPem(path);
  let key: KeyObject;
  try {
    key = decrypted(pem, passphrase ?? '');
  } catch {
    // The error has no cause, so that no message of OpenSSL about a private key gets into the service's log.
    if (!pem.includes('ENCRYPTED') || isUnfinished(pem)) {
      const what = isUnfinished(pem)
        ? 'is empty or cut off: put it back from a copy, or remove it if it was never in use'
        : 'is not a PKCS #8 PEM file';
      throw new LogError('key_invalid', `key file ${path} ${what}`);
    }
    const reason = passphrase === undefined ? 'needs a passphrase' : 'has another passphrase';
    throw new LogError('key_invalid', `key file ${path} ${reason}`);
  } finally {
    pem.fill(0);
  }
  const algorithms = typeof algorithm === 'string' ? [algorithm] : algorithm;
  if (!algorithms.some((one) => isOf(key, one))) {
    throw new LogError('key_invalid', `key file ${path} has no ${algorithms.join(' or ')} key`);
  }
  return key;
}

async function readPem(path: string): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY);
  try {
    await checkFile(file, path);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

/** `isUnfinished` for the content of a file; throws `key_invalid` for a file that `readKeyFile` would refuse unread. */
export async function isUnfinishedFile(path: string): Promise<boolean> {
  const pem = await readPem(path);
  const unfinished = isUnfinished(pem);
  pem.fill(0);
  return unfinished;
}

/** Whether a key belongs to an algorithm. */
export const isOf = (key: KeyObject, algorithm: KeyAlgorithm): boolean =>
  algorithm === 'Ed25519'
    ? key.asymmetricKeyType === 'ed25519'
    : key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1';

/** Checks the open file instead of its path, so that the file that is read is the one that was checked. */
async function checkFile(file: FileHandle, path: string): Promise<void> {
  const { mode, size } = await file.stat();
  if ((mode & constants.S_IFMT) !== constants.S_IFREG || size > MAX_KEY_FILE_BYTES) {
    throw new LogError(
      'key_invalid',
      `key file ${path} is not a regular file of at most 4096 bytes`,
    );
  }
  if ((mode & 0o077) !== 0 && process.platform !== 'win32') {
    const octal = (mode & 0o777).toString(8).padStart(4, '0');
    throw new LogError('key_invalid', `key file ${path} has mode ${octal}, the limit is 0600`);
  }
}

// Encryption of existing key files: those without encryption, once there is a passphrase, and those that an earlier
// release encrypted with PBKDF2 (gateway/API.md §2.3; RFC 5958, RFC 8018).

const PLAIN = '-----BEGIN PRIVATE KEY-----';
/** Ends the names of files of revoked keys. They are not read any more, so they may have another passphrase. */
const REVOKED = '.revoked.pem';

/**
 * Encrypts every key file of a folder that is not encrypted with scrypt, and returns their names. After a crash, each
 * file is either as it was or encrypted. If a key in use has another passphrase or cannot be read, no file is changed.
 */
export async function encryptKeyFiles(folder: string, passphrase: string): Promise<string[]> {
  const weak: string[] = [];
  for (const name of await namesIn(folder)) {
    const path = join(folder, name);
    if (!(await isPrivate(path))) continue;
    const pem = await readFile(path);
    if (isUnfinished(pem)) continue;
    if (pem.includes(PLAIN)) weak.push(name);
    else if (!isMemoryHard(pem) && keyIn(pem, passphrase) !== null) weak.push(name);
    else if (!name.endsWith(REVOKED) && keyIn(pem, passphrase) === null) return [];
    pem.fill(0);
  }
  const encrypted: string[] = [];
  for (const name of weak) if (await encrypt(join(folder, name), passphrase)) encrypted.push(name);
  return encrypted;
}

async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  });
  return names.filter((name) => name.endsWith('.pem')).sort();
}

/**
 * Whether it is a regular file that only its owner can read, and not too large. `readKeyFile` refuses any other file.
 */
async function isPrivate(path: string): Promise<boolean> {
  const stat = await lstat(path);
  return stat.isFile() && stat.size <= MAX_KEY_FILE_BYTES && (stat.mode & 0o077) === 0;
}

function keyIn(pem: Buffer, passphrase: string): KeyObject | null {
  try {
    return decrypted(pem, passphrase);
  } catch {
    return null;
  }
}

/** Replaces a key file by an encrypted one. It keeps the file's times, which show since when the key exists. */
async function encrypt(path: string, passphrase: string): Promise<boolean> {
  const pem = await readFile(path);
  const key = keyIn(pem, passphrase);
  pem.fill(0);
  if (key === null) return false;
  const times = await lstat(path);
  await writeDurableFile(path, pemOf(key, passphrase), { secret: true, times });
  return true;
}
