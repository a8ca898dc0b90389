// Verifies batches of signatures on several threads. A monitor and fsck spend most of their time on this. Server only.

import { WorkerPool } from '../worker.ts';
import { native } from './native.ts';

const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

/** A signature, its key and the message that it signs. */
export interface SignatureCheck {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly message: Uint8Array;
  /** 64 bytes. */
  readonly signature: Uint8Array;
}

/** Concatenated keys, signatures and messages, and the lengths of the messages. */
interface CheckBatch {
  readonly keys: Uint8Array<ArrayBuffer>;
  readonly signatures: Uint8Array<ArrayBuffer>;
  readonly messages: Uint8Array<ArrayBuffer>;
  readonly lengths: Uint32Array<ArrayBuffer>;
}

export const threadJobs = {
  url: import.meta.url,
  make: () => ({
    verify: {
      run: verifyBatch,
      takes: ({ keys, signatures, messages, lengths }: CheckBatch) => [
        keys.buffer,
        signatures.buffer,
        messages.buffer,
        lengths.buffer,
      ],
      gives: (holds: Uint8Array<ArrayBuffer>) => [holds.buffer],
    },
  }),
};

/** Verifies batches of signatures. */
export class VerifyPool {
  /** The number of batches that are verified at the same time. Further batches wait. */
  readonly width: number;
  readonly #workers: WorkerPool<ReturnType<typeof threadJobs.make>>;

  /** @param options.threads the number of threads; with 0 the calling thread verifies */
  constructor({ threads }: { readonly threads: number }) {
    this.width = Math.max(threads, 1);
    this.#workers = new WorkerPool(threadJobs, { name: 'verifying', threads });
  }

  /** Starts the threads, so that the first batches do not wait for them. */
  start(): void {
    this.#workers.start();
  }

  /**
   * Returns 1 for each valid signature and 0 for each invalid one, in their order.
   *
   * @throws LogError `log_unavailable` if the thread ends or the pool is closed, before the signatures were verified
   */
  verifyAll(checks: readonly SignatureCheck[]): Promise<Uint8Array> {
    return this.#workers.run('verify', packChecks(checks));
  }

  close(): Promise<void> {
    return this.#workers.close();
  }
}

/** Opens a pool of at most `threads` threads. */
export const openVerifyPool = (options: { readonly threads: number }): VerifyPool =>
  new VerifyPool(options);

/** Copies checks into new buffers, which can be transferred to a thread. */
function packChecks(checks: readonly SignatureCheck[]): CheckBatch {
  const lengths = Uint32Array.from(checks, ({ message }) => message.length);
  const messages = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
  const keys = new Uint8Array(checks.length * KEY_BYTES);
  const signatures = new Uint8Array(checks.length * SIGNATURE_BYTES);
  let at = 0;
  for (const [i, { publicKey, message, signature }] of checks.entries()) {
    keys.set(publicKey, i * KEY_BYTES);
    signatures.set(signature, i * SIGNATURE_BYTES);
    messages.set(message, at);
    at += message.length;
  }
  return { keys, signatures, messages, lengths };
}

/** Verifies a batch with the native suite. */
function verifyBatch(batch: CheckBatch): Uint8Array<ArrayBuffer> {
  const { keys, signatures, messages, lengths } = batch;
  const holds = new Uint8Array(lengths.length);
  let at = 0;
  for (const [i, length] of lengths.entries()) {
    const good = native.verify(
      keys.subarray(i * KEY_BYTES, (i + 1) * KEY_BYTES),
      messages.subarray(at, at + length),
      signatures.subarray(i * SIGNATURE_BYTES, (i + 1) * SIGNATURE_BYTES),
    );
    holds[i] = good ? 1 : 0;
    at += length;
  }
  return holds;
}
