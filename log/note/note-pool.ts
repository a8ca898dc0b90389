// Opens checkpoints with ML-DSA-44 cosignatures, and signs with such a key, in a worker thread: both take milliseconds
// in JavaScript. Notes without such keys are opened on the calling thread, since a message to a thread costs more than
// Ed25519. Server only.

import { native } from '../crypto/native.ts';
import { signMlDsa } from '../crypto/ml-dsa.ts';
import { WorkerPool } from '../worker.ts';
import { openCheckpoint } from './checkpoint.ts';
import type { Cosigned } from './checkpoint.ts';
import { ML_DSA_KEY } from './note.ts';
import type { Verifier } from './note.ts';

/** The keys that a note is opened with. */
interface NoteKeys {
  readonly origin: string;
  readonly vkey: string;
  readonly cosigners: readonly Verifier[];
}

interface Opening {
  readonly note: string;
  readonly keys: NoteKeys;
}

interface Signing {
  /** 32 bytes; copied to the thread for each signature, and not kept there. */
  readonly seed: Uint8Array;
  readonly message: Uint8Array;
}

const cosignaturesOf = ({ note, keys }: Opening): readonly Cosigned[] =>
  openCheckpoint(native, note, keys).cosignatures;

export const threadJobs = {
  url: import.meta.url,
  make: () => ({
    cosignatures: { run: cosignaturesOf },
    sign: { run: ({ seed, message }: Signing) => signMlDsa(seed, message) },
  }),
};

/** One thread for the notes of all logs. */
export class NotePool {
  readonly #workers: WorkerPool<ReturnType<typeof threadJobs.make>>;

  /** @param options.threads false: everything runs on the calling thread */
  constructor({ threads }: { readonly threads: boolean }) {
    this.#workers = new WorkerPool(threadJobs, { name: 'notes', threads: threads ? 1 : 0 });
  }

  /**
   * The cosignatures of a checkpoint; see `openCheckpoint`.
   *
   * @throws LogError as `openCheckpoint` does; `log_unavailable` if the thread ends first
   */
  async cosignatures(note: string, keys: NoteKeys): Promise<readonly Cosigned[]> {
    if (keys.cosigners.every(({ type }) => type !== ML_DSA_KEY)) {
      return cosignaturesOf({ note, keys });
    }
    return this.#workers.run('cosignatures', { note, keys });
  }

  /** An ML-DSA-44 signature of 2,420 bytes by the key of a seed. Throws `log_unavailable` if the thread ends first. */
  sign(seed: Uint8Array, message: Uint8Array): Promise<Uint8Array> {
    return this.#workers.run('sign', { seed, message });
  }

  close(): Promise<void> {
    return this.#workers.close();
  }
}
