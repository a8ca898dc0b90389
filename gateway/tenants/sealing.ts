// Encrypts the private texts of entries: each under its own key, with AES-256-GCM (NIST SP 800-38D) and the id of the
// entry as associated data. A worker thread does it, so that the ciphers do not block the event loop. All texts of one
// turn of the event loop go to the thread in one message, because a message costs more than a few ciphers.

import { createCipheriv, createDecipheriv } from 'node:crypto';
import { packBatch, randomPiece, WorkerPool } from '../../log/index.ts';
import type { Batch } from '../../log/index.ts';

const CIPHER = 'aes-256-gcm';
/** Bytes of a key. */
export const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A text to seal, and the entry that it belongs to. */
interface Private {
  readonly entry_id: string;
  readonly text: string;
}

/** n texts to seal, and their keys in one buffer: n × key[32]. */
interface Unsealed {
  readonly texts: readonly Private[];
  readonly keys: Uint8Array<ArrayBuffer>;
}

/** Seals texts. The batch has nonce[12] ‖ tag[16] ‖ ciphertext for each of them. */
export function sealBatch({ texts, keys }: Unsealed): Batch {
  const sealed = texts.map(({ entry_id, text }, i) => {
    const key = keys.subarray(i * KEY_BYTES, (i + 1) * KEY_BYTES);
    const nonce = randomPiece(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(entry_id));
    const hidden = cipher.update(text, 'utf8');
    cipher.final(); // GCM has no padding, so this returns no bytes; it computes the tag.
    return Buffer.concat([nonce, cipher.getAuthTag(), hidden]);
  });
  return packBatch(sealed);
}

/** The jobs of the sealing thread. */
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

/** The sealed texts of a batch, as views of its buffer. */
export function splitSealed({ bytes, lengths }: Batch): Uint8Array[] {
  let at = 0;
  return Array.from(lengths, (length) => bytes.subarray(at, (at += length)));
}

/** Decrypts the text of an entry. Throws if the key, the entry id or any bit of the sealed text is wrong. */
export function openSealed(entry_id: string, key: Uint8Array, sealed: Uint8Array): string {
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(entry_id));
  decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  const text = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8');
  return text + decipher.final('utf8');
}

interface Request extends Private {
  readonly key: Uint8Array;
  readonly resolve: (sealed: Uint8Array) => void;
}

/** Seals texts on a thread. If the thread has failed or is closed, it seals on the calling thread. */
export class SealPool {
  readonly #workers: WorkerPool<ReturnType<typeof threadJobs.make>>;
  #turn: Request[] = [];

  constructor({ threads }: { readonly threads: boolean }) {
    this.#workers = new WorkerPool(threadJobs, { name: 'sealing', threads: threads ? 1 : 0 });
  }

  /** Seals the text of an entry as `sealBatch` does. Then it overwrites the key with zeros. */
  seal(entry_id: string, key: Uint8Array, text: string): Promise<Uint8Array> {
    return new Promise((resolve) => {
      if (this.#turn.push({ entry_id, text, key, resolve }) === 1) {
        queueMicrotask(() => {
          const turn = this.#turn;
          this.#turn = [];
          void this.#seal(turn);
        });
      }
    });
  }

  /** Ends the thread. */
  close(): Promise<void> {
    return this.#workers.close();
  }

  async #seal(turn: readonly Request[]): Promise<void> {
    let batch: Batch;
    try {
      batch = await this.#workers.run('seal', unsealedOf(turn));
    } catch {
      batch = sealBatch(unsealedOf(turn));
    }
    for (const [i, sealed] of splitSealed(batch).entries()) {
      turn[i]?.key.fill(0);
      turn[i]?.resolve(sealed);
    }
  }
}

/** Puts the keys into one buffer, because transferring one buffer for each would cost as much as sealing. */
function unsealedOf(turn: readonly Request[]): Unsealed {
  const keys = new Uint8Array(turn.length * KEY_BYTES);
  for (const [i, { key }] of turn.entries()) keys.set(key, i * KEY_BYTES);
  return { texts: turn.map(({ entry_id, text }) => ({ entry_id, text })), keys };
}
