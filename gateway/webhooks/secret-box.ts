// What the gateway must be able to read again and nobody else may: addresses and secrets of subscriptions, sealed
// with AES-256-GCM. The key is derived (HKDF, RFC 5869) from a key file of its own, which has the protection of
// every private key: mode 0600, encrypted under the passphrase, outside of any backup. gateway/API.md §2.3, §11.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { generateKey, makeFolder, readKeyFile, writeKeyFile } from '../../log/index.ts';

const FILE = 'webhook-secrets.pem';
const INFO = 'actlog webhook secrets v1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Seals and opens texts. */
export class SecretBox {
  readonly #key: Uint8Array;

  private constructor(key: KeyObject) {
    // The private scalar's seed is 32 random bytes; nothing is ever signed with this key.
    const { d = '' } = key.export({ format: 'jwk' });
    const seed = Buffer.from(d, 'base64url');
    this.#key = new Uint8Array(hkdfSync('sha256', seed, new Uint8Array(0), INFO, 32));
    seed.fill(0);
  }

  /** Reads the key file in the folder of private keys; makes it at the first start. */
  static async open(folder: string, passphrase?: string): Promise<SecretBox> {
    const path = join(folder, FILE);
    await makeFolder(folder, 0o700);
    const there = await readKeyFile(path, passphrase).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    });
    if (there !== null) return new SecretBox(there);
    const made = generateKey();
    await writeKeyFile(path, made, passphrase);
    return new SecretBox(made);
  }

  /** Base64 of nonce, tag and ciphertext; `name` is bound to it, so that it opens in its own place only. */
  seal(name: string, text: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(name));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
  }

  /** The text; null when it was sealed under another key or another name. */
  open(name: string, sealed: string): string | null {
    const bytes = Buffer.from(sealed, 'base64');
    if (bytes.length < NONCE_BYTES + TAG_BYTES) return null;
    const nonce = bytes.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv('aes-256-gcm', this.#key, nonce, {
      authTagLength: TAG_BYTES,
    }).setAAD(Buffer.from(name));
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    try {
      const text = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8');
      return text + decipher.final('utf8');
    } catch {
      return null;
    }
  }
}
