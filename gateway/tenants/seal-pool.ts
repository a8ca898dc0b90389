// Seals private texts off the event loop, where a cipher for each entry is dear: the texts of one turn go to the
// thread in one message, and come back sealed before the entries of their round are signed.

import type { Worker } from 'node:worker_threads';
import { startThread } from '../../log/index.ts';
import type { Batch } from '../../log/index.ts';
import { KEY_BYTES, sealBatch, splitSealed } from './sealing.ts';
import type { Private, Unsealed } from './sealing.ts';

interface Asked extends Private {
  readonly key: Uint8Array;
  readonly resolve: (sealed: Uint8Array) => void;
}

/** Seals texts; it never fails, since what its thread cannot do is done here. */
export class SealPool {
  readonly #threads: boolean;
  #worker: Worker | null = null;
  /** Of this turn, and those that the thread has, batch by batch. */
  #turn: Asked[] = [];
  #sent: (readonly Asked[])[] = [];

  constructor({ threads }: { readonly threads: boolean }) {
    this.#threads = threads;
  }

  /** Seals the text of an entry under its key, which is wiped then: see `sealBatch`. */
  seal(entry_id: string, key: Uint8Array, text: string): Promise<Uint8Array> {
    return new Promise((resolve) => {
      if (this.#turn.push({ entry_id, text, key, resolve }) === 1) {
        queueMicrotask(() => {
          this.#send();
        });
      }
    });
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    const worker = this.#worker;
    this.#lose(worker);
    await worker?.terminate();
  }

  #send(): void {
    const turn = this.#turn;
    this.#turn = [];
    if (!this.#threads) {
      answer(turn, sealBatch(unsealedOf(turn)));
      return;
    }
    const worker = (this.#worker ??= this.#start());
    worker.ref(); // a process waits for what it seals
    this.#sent.push(turn);
    const unsealed = unsealedOf(turn);
    worker.postMessage(unsealed, [unsealed.keys.buffer]);
  }

  #start(): Worker {
    const worker = startThread(import.meta.url, './seal-thread');
    worker.unref(); // an idle pool keeps no process alive
    worker.on('message', (batch: Batch) => {
      // What a lost thread had was sealed here, and its place in the line is another's now.
      if (worker !== this.#worker) return;
      answer(this.#sent.shift() ?? [], batch);
      if (this.#sent.length === 0) worker.unref();
    });
    const lost = (): void => {
      this.#lose(worker);
    };
    worker.on('error', lost);
    worker.on('exit', lost);
    return worker;
  }

  /** A thread that died is replaced at the next text; what it had is sealed here. */
  #lose(worker: Worker | null): void {
    if (worker !== this.#worker) return;
    this.#worker = null;
    const sent = this.#sent;
    this.#sent = [];
    for (const turn of sent) answer(turn, sealBatch(unsealedOf(turn)));
  }
}

/** What the thread is told: the keys together, since a message with each would cost as much as a seal. */
function unsealedOf(turn: readonly Asked[]): Unsealed {
  const keys = new Uint8Array(turn.length * KEY_BYTES);
  for (const [i, { key }] of turn.entries()) keys.set(key, i * KEY_BYTES);
  return { texts: turn.map(({ entry_id, text }) => ({ entry_id, text })), keys };
}

function answer(turn: readonly Asked[], batch: Batch): void {
  for (const [i, sealed] of splitSealed(batch).entries()) {
    turn[i]?.key.fill(0);
    turn[i]?.resolve(sealed);
  }
}
