// Encrypts the addresses and secrets of subscriptions with AES-256-GCM, because the gateway must read them again. The
// key is derived (HKDF, RFC 5869) from a separate key file, which is protected like every private key: mode 0600,
// encrypted under the passphrase, and not part of a backup. gateway/API.md §2.3, §11.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { KeyFiles } from '../host/key-files.ts';

/** The name of the key file without `.pem`. */
export const WEBHOOK_SECRETS = 'webhook-secrets';
const INFO = 'actlog webhook secrets v1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts and decrypts texts. */
export class SecretBox {
  readonly #key: Uint8Array;

  private constructor(key: KeyObject) {
    // The file holds an Ed25519 key only because all key files do. Its seed is 32 random bytes; it signs nothing.
    const { d = '' } = key.export({ format: 'jwk' });
    const seed = Buffer.from(d, 'base64url');
    this.#key = new Uint8Array(hkdfSync('sha256', seed, new Uint8Array(0), INFO, 32));
    seed.fill(0);
  }

  /**
   * Reads the key file, or makes it at the first start and after the operator gave it up. What was sealed under a key
   * that was given up does not open any more.
   *
   * @throws LogError `key_lost` if the file was in use and is missing
   */
  static async open(files: KeyFiles): Promise<SecretBox> {
    const { inUse, ended } = await files.names((name) => name === WEBHOOK_SECRETS);
    if (inUse.length === 0) await files.make(WEBHOOK_SECRETS, 'Ed25519');
    const { key } = await files.read(WEBHOOK_SECRETS, 'Ed25519');
    await files.remember([WEBHOOK_SECRETS]);
    // Another loss must not pass for the one that the operator accepted.
    if (ended.length > 0) await files.forgetEnd(WEBHOOK_SECRETS);
    return new SecretBox(key);
  }

  /** Base64 of nonce, tag and ciphertext. `name` is authenticated with it, so `open` must get the same name. */
  seal(name: string, text: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(name));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
  }

  /** The text; null if it was sealed under another key or another name. */
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
