// Seals private texts in a worker thread, where the ciphers do not hold up the event loop. The texts of one turn of the
// loop go to the thread in one message, and come back before the entries of their round are signed.

import { WorkerPool } from '../../log/index.ts';
import type { Batch } from '../../log/index.ts';
import { KEY_BYTES, sealBatch, splitSealed, threadJobs } from './sealing.ts';
import type { Private, Unsealed } from './sealing.ts';

interface Asked extends Private {
  readonly key: Uint8Array;
  readonly resolve: (sealed: Uint8Array) => void;
}

/** Seals texts. It never fails: texts whose thread ended, or that come after `close`, are sealed on this thread. */
export class SealPool {
  readonly #workers: WorkerPool<ReturnType<typeof threadJobs.make>>;
  #turn: Asked[] = [];

  constructor({ threads }: { readonly threads: boolean }) {
    this.#workers = new WorkerPool(threadJobs, { name: 'sealing', threads: threads ? 1 : 0 });
  }

  /** Seals the text of an entry under its key, which is wiped then: see `sealBatch`. */
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

  async #seal(turn: readonly Asked[]): Promise<void> {
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

/** The keys in one buffer, since a message with each would cost as much as a seal. */
function unsealedOf(turn: readonly Asked[]): Unsealed {
  const keys = new Uint8Array(turn.length * KEY_BYTES);
  for (const [i, { key }] of turn.entries()) keys.set(key, i * KEY_BYTES);
  return { texts: turn.map(({ entry_id, text }) => ({ entry_id, text })), keys };
}
