// Checks of many signatures spread over threads: what a monitor and fsck spend most of their time on.
// Server only.

import type { Worker } from 'node:worker_threads';
import { LogError } from '../errors.ts';
import { startThread } from '../thread.ts';
import { packChecks, verifyBatch } from './verify-batch.ts';
import type { SignatureCheck, VerifyAnswer, VerifyRequest } from './verify-batch.ts';

export type { SignatureCheck } from './verify-batch.ts';

/** Checks batches of signatures. */
export interface VerifyPool {
  /** How many batches it works on at once; more only wait. */
  readonly width: number;
  /**
   * 1 for each signature that holds, 0 for each that does not, in their order. Rejects with
   * `log_unavailable` when a thread dies: nothing is known of the batch then.
   */
  verifyAll(checks: readonly SignatureCheck[]): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** Opens a pool of this many threads; with 0 it checks on the calling thread. */
export function openVerifyPool(options: { readonly threads: number }): VerifyPool {
  return options.threads > 0 ? new ThreadPool(options.threads) : inline;
}

const inline: VerifyPool = {
  width: 1,
  verifyAll: async (checks) => verifyBatch(packChecks(checks)),
  close: () => Promise.resolve(),
};

interface Waiting {
  readonly worker: Worker;
  readonly resolve: (holds: Uint8Array) => void;
  readonly reject: (error: LogError) => void;
}

class ThreadPool implements VerifyPool {
  readonly width: number;
  readonly #workers: Worker[];
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 0;

  constructor(threads: number) {
    this.width = threads;
    this.#workers = Array.from({ length: threads }, () => this.#start());
  }

  verifyAll(checks: readonly SignatureCheck[]): Promise<Uint8Array> {
    const id = this.#nextId;
    this.#nextId += 1;
    const worker = this.#leastBusy();
    if (worker === undefined) return Promise.reject(lost('every verifying thread has ended'));
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { worker, resolve, reject });
      const batch = packChecks(checks);
      const request: VerifyRequest = { id, batch };
      const { keys, signatures, messages, lengths } = batch;
      worker.ref(); // a process waits for its checks
      worker.postMessage(request, [
        keys.buffer,
        signatures.buffer,
        messages.buffer,
        lengths.buffer,
      ]);
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  #start(): Worker {
    const worker = startThread(import.meta.url, './verify-thread');
    worker.unref();
    worker.on('message', ({ id, holds }: VerifyAnswer) => {
      this.#waiting.get(id)?.resolve(holds);
      this.#waiting.delete(id);
      if (this.#load(worker) === 0) worker.unref();
    });
    const end = (): void => {
      this.#end(worker);
    };
    worker.on('error', end);
    worker.on('exit', end);
    return worker;
  }

  #end(worker: Worker): void {
    const at = this.#workers.indexOf(worker);
    if (at >= 0) this.#workers.splice(at, 1);
    for (const [id, waiting] of this.#waiting) {
      if (waiting.worker !== worker) continue;
      this.#waiting.delete(id);
      waiting.reject(lost('a verifying thread has ended'));
    }
  }

  #load(worker: Worker): number {
    let load = 0;
    for (const waiting of this.#waiting.values()) if (waiting.worker === worker) load += 1;
    return load;
  }

  #leastBusy(): Worker | undefined {
    return this.#workers.toSorted((a, b) => this.#load(a) - this.#load(b))[0];
  }
}

const lost = (message: string): LogError => new LogError('log_unavailable', message);
