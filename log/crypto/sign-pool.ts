// Signs batches of messages in a worker thread, because signing is the most expensive part of an append
// (log/FORMAT.md §5.1, step 3). One message in each direction for a batch. Server only.

import { sign, type KeyObject } from 'node:crypto';
import { LogError } from '../errors.ts';
import { WorkerPool } from '../worker.ts';
import { isOf } from './keys.ts';
import { sodium, sodiumSigner } from './sodium.ts';

const SIGNATURE_BYTES = 64;

/** Concatenated messages and their lengths, in buffers that can be transferred to a thread. */
export interface Batch {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly lengths: Uint32Array<ArrayBuffer>;
}

/** Copies messages into buffers of their own. */
export function packBatch(messages: readonly Uint8Array[]): Batch {
  const lengths = Uint32Array.from(messages, (message) => message.length);
  const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const message of messages) {
    bytes.set(message, at);
    at += message.length;
  }
  return { bytes, lengths };
}

/** The jobs of the signing thread, which holds the keys by name. */
export const threadJobs = {
  url: import.meta.url,
  make: () => {
    const signers = new Map<string, SignInto>();
    return {
      // A KeyObject is passed to the thread as a handle.
      addKey: {
        run: ({ keyId, key }: { readonly keyId: string; readonly key: KeyObject }) => {
          signers.set(keyId, signerOf(key));
        },
      },
      sign: {
        run: ({ keyId, batch }: { readonly keyId: string; readonly batch: Batch }) => {
          const signer = signers.get(keyId);
          if (signer === undefined) throw unavailable('the signing thread does not have the key');
          return signBatch(signer, batch);
        },
        takes: ({ batch }: { readonly batch: Batch }) => [batch.bytes.buffer, batch.lengths.buffer],
        gives: (signatures: Uint8Array<ArrayBuffer>) => [signatures.buffer],
      },
    };
  },
};

/** Writes the signature of a message, 64 bytes, into a buffer. */
type SignInto = (message: Uint8Array, signature: Uint8Array) => void;

/** A signer by an Ed25519 or ES256 key: by libsodium for Ed25519, else by node:crypto. */
function signerOf(key: KeyObject): SignInto {
  const es256 = key.asymmetricKeyType === 'ec';
  if (!es256 && sodium !== null) return sodiumSigner(sodium, key);
  const signing = { key, dsaEncoding: 'ieee-p1363' } as const;
  return (message, signature) => {
    signature.set(sign(es256 ? 'sha256' : null, message, signing));
  };
}

/** The signatures of a batch, 64 bytes each, in its order. */
function signBatch(signInto: SignInto, { bytes, lengths }: Batch): Uint8Array<ArrayBuffer> {
  const signatures = new Uint8Array(lengths.length * SIGNATURE_BYTES);
  let at = 0;
  for (const [i, length] of lengths.entries()) {
    const signature = signatures.subarray(i * SIGNATURE_BYTES, (i + 1) * SIGNATURE_BYTES);
    signInto(bytes.subarray(at, at + length), signature);
    at += length;
  }
  return signatures;
}

/** Signs batches of messages. */
export interface SignPool {
  /** Adds an Ed25519 or ES256 private key under a name. Throws `key_invalid` if the name has another key already. */
  addKey(keyId: string, key: KeyObject): void;
  /**
   * Returns one signature of 64 bytes for each message, in their order. The messages are copied before the call
   * returns.
   *
   * @throws LogError `log_unavailable` if the thread ends or the pool is closed; no signature of the batch has left the
   *   pool then, and the caller may send the batch again
   */
  signAll(keyId: string, messages: readonly Uint8Array[]): Promise<Uint8Array[]>;
  /** Ends the thread and rejects the waiting batches. */
  close(): Promise<void>;
}

/** Opens a pool. With `threads: false` it signs on the calling thread. An idle pool does not keep the process alive. */
export function openSignPool({ threads }: { readonly threads: boolean }): SignPool {
  const keys = new Map<string, KeyObject>();
  const workers = new WorkerPool(threadJobs, {
    name: 'signing',
    threads: threads ? 1 : 0,
    prepare: (tell) => {
      for (const [keyId, key] of keys) tell('addKey', { keyId, key });
    },
  });
  return {
    addKey(keyId, key) {
      if (key.type !== 'private' || !(isOf(key, 'Ed25519') || isOf(key, 'ES256'))) {
        throw new LogError('key_invalid', 'key is not an Ed25519 or ES256 private key');
      }
      if (keys.get(keyId)?.equals(key) === false) {
        throw new LogError('key_invalid', `the sign pool has another key ${keyId}`);
      }
      keys.set(keyId, key);
      workers.tell('addKey', { keyId, key });
    },
    async signAll(keyId, messages) {
      if (!keys.has(keyId)) {
        throw new LogError('key_invalid', `the sign pool has no key ${keyId}`);
      }
      const signatures = await workers.run('sign', { keyId, batch: packBatch(messages) });
      return Array.from(messages, (_, i) =>
        signatures.subarray(i * SIGNATURE_BYTES, (i + 1) * SIGNATURE_BYTES),
      );
    },
    close: () => workers.close(),
  };
}

const unavailable = (message: string): LogError => new LogError('log_unavailable', message);
