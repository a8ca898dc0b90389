// Encrypts private key files that were made before there was a passphrase, and encrypts those anew that an earlier
// release wrote with PBKDF2. gateway/API.md §2.3; RFC 5958, RFC 8018.

import { createPrivateKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurableFile } from '../store/durable-file.ts';
import { isMemoryHard, isUnfinished, MAX_KEY_FILE_BYTES, pemOf } from './keys.ts';

const PLAIN = '-----BEGIN PRIVATE KEY-----';
/** Nothing reads these any more, so their passphrase says nothing of the others'. */
const REVOKED = '.revoked.pem';

/**
 * Encrypts every key file of a folder that is not encrypted by scrypt, and answers with their names. A crash leaves each of them as it
 * was or encrypted. Does nothing where a key in use has another passphrase, or is one that its reader will refuse.
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

/** Others are refused by whoever reads them. */
async function isPrivate(path: string): Promise<boolean> {
  const stat = await lstat(path);
  return stat.isFile() && stat.size <= MAX_KEY_FILE_BYTES && (stat.mode & 0o077) === 0;
}

function keyIn(pem: Buffer, passphrase: string): KeyObject | null {
  try {
    return createPrivateKey({ key: pem, format: 'pem', passphrase });
  } catch {
    return null;
  }
}

/** Whole beside the old one, then in its place. The time of the file stays: it says since when a key is. */
async function encrypt(path: string, passphrase: string): Promise<boolean> {
  const pem = await readFile(path);
  const key = keyIn(pem, passphrase);
  pem.fill(0);
  if (key === null) return false;
  const times = await lstat(path);
  await writeDurableFile(path, pemOf(key, passphrase), { secret: true, times });
  return true;
}
