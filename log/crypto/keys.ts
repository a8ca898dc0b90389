// Private keys: PKCS #8 files that only their owner can read, and what signs with them
// (gateway/API.md §2.3; RFC 5208, RFC 8018). Server only.

import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { LogError } from '../errors.ts';
import { writeDurableFile } from '../store/durable-file.ts';
import { native } from './native.ts';
import { publicKeyOfJwk, thumbprint } from './thumbprint.ts';
import type { Ed25519Jwk } from './thumbprint.ts';

/** No key file is larger. */
export const MAX_KEY_FILE_BYTES = 4096;

/** What a private key is for: Ed25519, or ECDSA on P-256 with SHA-256 where a format of others asks for that. */
export type KeyAlgorithm = 'Ed25519' | 'ES256';

/** A new private key; Ed25519 unless said. */
export function generateKey(algorithm: KeyAlgorithm = 'Ed25519'): KeyObject {
  return algorithm === 'Ed25519'
    ? generateKeyPairSync('ed25519').privateKey
    : generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}

/** The public JWK of a private or public Ed25519 key; `key_invalid` for another type. */
export function jwkOf(key: KeyObject): Ed25519Jwk {
  const { crv, x } = (key.type === 'private' ? createPublicKey(key) : key).export({
    format: 'jwk',
  });
  if (crv !== 'Ed25519' || x === undefined) throw new LogError('key_invalid', 'key is not Ed25519');
  return { kty: 'OKP', crv, x };
}

/** A private key with its public names. */
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

  /** 64 bytes; about 45 µs on the calling thread. Batches go to the sign pool. */
  sign(message: Uint8Array): Uint8Array {
    const signature = sign(null, message, this.#key);
    return new Uint8Array(signature.buffer, signature.byteOffset, signature.length);
  }
}

/** A private key as the text of its file. */
export const pemOf = (key: KeyObject, passphrase?: string): string =>
  key.export({
    type: 'pkcs8',
    format: 'pem',
    ...(passphrase === undefined ? {} : { cipher: 'aes-256-cbc', passphrase }),
  }) as string;

/**
 * Writes a new key file, mode 0600, durable when the promise resolves; encrypted (PBES2, AES-256-CBC)
 * when a passphrase is given. Never replaces a file: that is an EEXIST error.
 */
export async function writeKeyFile(
  path: string,
  key: KeyObject,
  passphrase?: string,
): Promise<void> {
  if (passphrase === '') throw new LogError('key_invalid', 'passphrase is empty');
  await writeDurableFile(path, pemOf(key, passphrase), { secret: true, replace: false });
}

/**
 * Reads a key file.
 *
 * @throws LogError `key_invalid` when others may read or write it, when the passphrase does not fit
 * or is missing, and for anything but one key of the algorithm. ENOENT and the like pass through.
 */
export async function readKeyFile(
  path: string,
  passphrase?: string,
  algorithm: KeyAlgorithm = 'Ed25519',
): Promise<KeyObject> {
  const file = await open(path, constants.O_RDONLY);
  let pem: Buffer;
  try {
    await checkFile(file, path);
    pem = await file.readFile();
  } finally {
    await file.close();
  }
  let key: KeyObject;
  try {
    key = createPrivateKey({ key: pem, format: 'pem', passphrase: passphrase ?? '' });
  } catch {
    // Without a cause: what OpenSSL says of a key file has no place in a log.
    if (!pem.includes('ENCRYPTED')) {
      throw new LogError('key_invalid', `key file ${path} is not a PKCS #8 PEM file`);
    }
    const reason = passphrase === undefined ? 'needs a passphrase' : 'has another passphrase';
    throw new LogError('key_invalid', `key file ${path} ${reason}`);
  } finally {
    pem.fill(0);
  }
  if (!isOf(key, algorithm)) {
    throw new LogError('key_invalid', `key file ${path} has no ${algorithm} key`);
  }
  return key;
}

/** Whether a key is of an algorithm. */
export const isOf = (key: KeyObject, algorithm: KeyAlgorithm): boolean =>
  algorithm === 'Ed25519'
    ? key.asymmetricKeyType === 'ed25519'
    : key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1';

/** Looks at the open file, not at its path, so that both are the same file. */
async function checkFile(file: FileHandle, path: string): Promise<void> {
  const { mode, size } = await file.stat();
  if ((mode & constants.S_IFMT) !== constants.S_IFREG || size > MAX_KEY_FILE_BYTES) {
    throw new LogError('key_invalid', `key file ${path} is no file of up to 4096 bytes`);
  }
  if ((mode & 0o077) !== 0 && process.platform !== 'win32') {
    const octal = (mode & 0o777).toString(8).padStart(4, '0');
    throw new LogError('key_invalid', `key file ${path} has mode ${octal}, the limit is 0600`);
  }
}
