// How the private texts of entries are sealed: each under a random key of its own, by AES-256-GCM (NIST SP 800-38D)
// with the entry's id as associated data. A batch is one buffer, which can move between threads.

import { createCipheriv, createDecipheriv } from 'node:crypto';
import { packBatch, randomPiece } from '../../log/index.ts';
import type { Batch } from '../../log/index.ts';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A text to seal, and the entry that it belongs to. */
export interface Private {
  readonly entry_id: string;
  readonly text: string;
}

/** One sealed text: nonce ‖ tag ‖ sealed text, and the key that opens it. */
export interface Sealed {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** Seals texts, each under a key that nobody had before: key[32] ‖ nonce[12] ‖ tag[16] ‖ sealed text of each. */
export function sealBatch(texts: readonly Private[]): Batch {
  const sealed = texts.map(({ entry_id, text }) => {
    const secret = randomPiece(KEY_BYTES + NONCE_BYTES);
    const [key, nonce] = [secret.subarray(0, KEY_BYTES), secret.subarray(KEY_BYTES)];
    const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(entry_id));
    const hidden = cipher.update(text, 'utf8');
    cipher.final(); // GCM is a stream: nothing is left, but the tag
    return Buffer.concat([secret, cipher.getAuthTag(), hidden]);
  });
  return packBatch(sealed);
}

/** Views of the single texts of a batch. */
export function splitSealed({ bytes, lengths }: Batch): Sealed[] {
  let at = 0;
  return Array.from(lengths, (length) => {
    const [from, to] = [at, (at += length)];
    const value = from + KEY_BYTES;
    return { key: bytes.subarray(from, value), value: bytes.subarray(value, to) };
  });
}

/** The text of an entry; throws when key, entry or a bit of what was sealed is another. */
export function openSealed(entry_id: string, { key, value }: Sealed): string {
  const nonce = value.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(entry_id));
  decipher.setAuthTag(value.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  const text = decipher.update(value.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8');
  return text + decipher.final('utf8');
}
