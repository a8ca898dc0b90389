// How the private texts of entries are sealed: each under a key of its own, by AES-256-GCM (NIST SP 800-38D)
// with the entry's id as associated data. A batch is one buffer, which can move between threads.

import { createCipheriv, createDecipheriv } from 'node:crypto';
import { packBatch, randomPiece } from '../../log/index.ts';
import type { Batch } from '../../log/index.ts';

const CIPHER = 'aes-256-gcm';
/** Bytes of a key. */
export const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A text to seal, and the entry that it belongs to. */
export interface Private {
  readonly entry_id: string;
  readonly text: string;
}

/** Texts to seal, and a key for each, one after the other: n × key[32]. */
export interface Unsealed {
  readonly texts: readonly Private[];
  readonly keys: Uint8Array<ArrayBuffer>;
}

/** Seals texts, each under its key: nonce[12] ‖ tag[16] ‖ sealed text of each. */
export function sealBatch({ texts, keys }: Unsealed): Batch {
  const sealed = texts.map(({ entry_id, text }, i) => {
    const key = keys.subarray(i * KEY_BYTES, (i + 1) * KEY_BYTES);
    const nonce = randomPiece(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(entry_id));
    const hidden = cipher.update(text, 'utf8');
    cipher.final(); // GCM is a stream: nothing is left, but the tag
    return Buffer.concat([nonce, cipher.getAuthTag(), hidden]);
  });
  return packBatch(sealed);
}

/** The jobs of the sealing thread, see seal-pool.ts. */
export const threadJobs = {
  url: import.meta.url,
  make: () => ({
    seal: {
      run: sealBatch,
      takes: ({ keys }: Unsealed) => [keys.buffer],
      gives: ({ bytes, lengths }: Batch) => [bytes.buffer, lengths.buffer],
    },
  }),
};

/** Views of the single sealed texts of a batch. */
export function splitSealed({ bytes, lengths }: Batch): Uint8Array[] {
  let at = 0;
  return Array.from(lengths, (length) => bytes.subarray(at, (at += length)));
}

/** The text of an entry; throws when key, entry or a bit of what was sealed is another. */
export function openSealed(entry_id: string, key: Uint8Array, sealed: Uint8Array): string {
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(entry_id));
  decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  const text = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8');
  return text + decipher.final('utf8');
}
