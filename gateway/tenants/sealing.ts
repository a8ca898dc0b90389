// Encrypts the private texts of entries: each under its own key, with ChaCha20-Poly1305 (RFC 8439) and the id of the
// entry as associated data. Libsodium does it in the time that a message to a thread would take; where it cannot be
// loaded, node:crypto makes the same bytes.

import { createCipheriv, createDecipheriv } from 'node:crypto';
import { randomPiece, sodium } from '../../log/index.ts';
import type { Sodium } from '../../log/index.ts';

const CIPHER = 'chacha20-poly1305';
/** The cipher of earlier releases. Both have the same layout. */
const OLDER_CIPHER = 'aes-256-gcm';
/** Bytes of a key. */
export const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = NONCE_BYTES + TAG_BYTES;

type Encrypt = (
  key: Uint8Array,
  nonce: Uint8Array,
  entry_id: Uint8Array,
  text: Uint8Array,
  into: { readonly tag: Uint8Array; readonly hidden: Uint8Array },
) => void;

/** Encrypts with node:crypto. */
export const encryptByOpenssl: Encrypt = (key, nonce, entry_id, text, { tag, hidden }) => {
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(entry_id, { plaintextLength: text.length });
  hidden.set(cipher.update(text));
  cipher.final(); // a stream cipher has no last block; this computes the tag
  tag.set(cipher.getAuthTag());
};

const encryptBySodium =
  ({ crypto_aead_chacha20poly1305_ietf_encrypt_detached: encrypt }: Sodium): Encrypt =>
  (key, nonce, entry_id, text, { tag, hidden }) => {
    encrypt(hidden, tag, text, entry_id, null, nonce, key);
  };

const encryptFastest = sodium === null ? encryptByOpenssl : encryptBySodium(sodium);

/**
 * Seals the text of an entry: nonce[12] ‖ tag[16] ‖ ciphertext. Then it overwrites the key with zeros.
 *
 * @param key 32 bytes, used for this text alone
 */
export function seal(
  entry_id: string,
  key: Uint8Array,
  text: string,
  encrypt = encryptFastest,
): Uint8Array {
  const plain = Buffer.from(text);
  const sealed = Buffer.allocUnsafe(HEAD_BYTES + plain.length);
  const nonce = randomPiece(NONCE_BYTES);
  sealed.set(nonce);
  encrypt(key, nonce, Buffer.from(entry_id), plain, {
    tag: sealed.subarray(NONCE_BYTES, HEAD_BYTES),
    hidden: sealed.subarray(HEAD_BYTES),
  });
  key.fill(0);
  return sealed;
}

/**
 * Decrypts the text of an entry, also one of an earlier release. Throws if the key, the entry id or any bit of the sealed
 * text is wrong.
 */
export function openSealed(entry_id: string, key: Uint8Array, sealed: Uint8Array): string {
  try {
    return decrypt(CIPHER, entry_id, key, sealed);
  } catch {
    return decrypt(OLDER_CIPHER, entry_id, key, sealed);
  }
}

function decrypt(cipher: string, entry_id: string, key: Uint8Array, sealed: Uint8Array): string {
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const hidden = sealed.subarray(HEAD_BYTES);
  // The declarations of node:crypto have no type for the name of any AEAD cipher.
  const name = cipher as typeof CIPHER;
  const decipher = createDecipheriv(name, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(entry_id), { plaintextLength: hidden.length });
  decipher.setAuthTag(sealed.subarray(NONCE_BYTES, HEAD_BYTES));
  return decipher.update(hidden, undefined, 'utf8') + decipher.final('utf8');
}
