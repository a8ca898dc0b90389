// Signatures of whole batches off the event loop, where they are the dearest part of a write: one
// thread, one message each way for a batch (log/FORMAT.md §5.1). Server only.

import type { KeyObject } from 'node:crypto';
import type { Worker } from 'node:worker_threads';
import { LogError } from '../errors.ts';
import { isOf } from './keys.ts';
import { startThread } from '../thread.ts';
import { packBatch, signBatch, splitSignatures } from './sign-batch.ts';
import type { SignAnswer, SignRequest } from './sign-batch.ts';

/** Signs batches with keys that it was given. */
export interface SignPool {
  /** Gives the pool an Ed25519 or ES256 private key under a name; a name keeps its key. */
  addKey(keyId: string, key: KeyObject): void;
  /**
   * One 64-byte signature for each message, in their order. Messages are copied before it returns.
   * Rejects with `log_unavailable` when the thread dies or the pool is closed; nothing was signed then
   * that anyone has seen, so the same batch may be sent again.
   */
  signAll(keyId: string, messages: readonly Uint8Array[]): Promise<Uint8Array[]>;
  /** Ends the thread; waiting batches are rejected. */
  close(): Promise<void>;
}

/** Opens a pool; with `threads: false` it signs on the calling thread. Idle, it keeps no process alive. */
export function openSignPool(options: { readonly threads: boolean }): SignPool {
  return options.threads ? new ThreadPool() : new InlinePool();
}

/** The keys of a pool by name. */
class Keys {
  readonly #keys = new Map<string, KeyObject>();

  add(keyId: string, key: KeyObject): void {
    if (key.type !== 'private' || !(isOf(key, 'Ed25519') || isOf(key, 'ES256'))) {
      throw new LogError('key_invalid', 'key is no Ed25519 or ES256 private key');
    }
    if (this.#keys.get(keyId)?.equals(key) === false) {
      throw new LogError('key_invalid', `the sign pool has another key ${keyId}`);
    }
    this.#keys.set(keyId, key);
  }

  get(keyId: string): KeyObject {
    const key = this.#keys.get(keyId);
    if (key === undefined) throw new LogError('key_invalid', `the sign pool has no key ${keyId}`);
    return key;
  }

  entries(): Iterable<[string, KeyObject]> {
    return this.#keys;
  }
}

class InlinePool implements SignPool {
  readonly #keys = new Keys();
  #closed = false;

  addKey(keyId: string, key: KeyObject): void {
    this.#keys.add(keyId, key);
  }

  async signAll(keyId: string, messages: readonly Uint8Array[]): Promise<Uint8Array[]> {
    if (this.#closed) throw unavailable('the sign pool is closed');
    return splitSignatures(signBatch(this.#keys.get(keyId), packBatch(messages)));
  }

  close(): Promise<void> {
    this.#closed = true;
    return Promise.resolve();
  }
}

interface Waiting {
  readonly id: number;
  readonly resolve: (signatures: Uint8Array[]) => void;
  readonly reject: (error: LogError) => void;
}

class ThreadPool implements SignPool {
  readonly #keys = new Keys();
  /** In the order in which the thread answers. No map: the tables that one outgrows keep alive what they held. */
  #waiting: Waiting[] = [];
  #worker: Worker | null = null;
  #nextId = 0;
  #closed = false;

  addKey(keyId: string, key: KeyObject): void {
    this.#keys.add(keyId, key);
    if (this.#worker !== null) sendKey(this.#worker, keyId, key);
  }

  async signAll(keyId: string, messages: readonly Uint8Array[]): Promise<Uint8Array[]> {
    if (this.#closed) throw unavailable('the sign pool is closed');
    this.#keys.get(keyId);
    const worker = this.#worker ?? this.#start();
    const batch = packBatch(messages);
    const id = this.#nextId;
    this.#nextId += 1;
    const request: SignRequest = { keyId, id, batch };
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) worker.ref(); // a process waits for its signatures
      this.#waiting.push({ id, resolve, reject });
      worker.postMessage(request, [batch.bytes.buffer, batch.lengths.buffer]);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const worker = this.#worker;
    this.#lose(worker, 'the sign pool was closed');
    await worker?.terminate();
  }

  /** A thread with all keys; a dead one is replaced when the next batch comes. */
  #start(): Worker {
    const worker = startThread(import.meta.url, './sign-thread');
    worker.unref(); // an idle pool keeps no process alive
    worker.on('message', (answer: SignAnswer) => {
      this.#settle(worker, answer);
    });
    worker.on('error', (error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      this.#lose(worker, `the signing thread failed: ${reason}`);
    });
    worker.on('exit', () => {
      this.#lose(worker, 'the signing thread ended');
    });
    for (const [keyId, key] of this.#keys.entries()) sendKey(worker, keyId, key);
    this.#worker = worker;
    return worker;
  }

  #settle(worker: Worker, answer: SignAnswer): void {
    // What a lost thread had was rejected, and its place in the line is another's now.
    if (worker !== this.#worker || this.#waiting[0]?.id !== answer.id) return;
    const waiting = this.#waiting.shift();
    if (this.#waiting.length === 0) worker.unref();
    if ('error' in answer) waiting?.reject(unavailable(answer.error));
    else waiting?.resolve(splitSignatures(answer.signatures));
  }

  #lose(worker: Worker | null, reason: string): void {
    if (worker !== this.#worker) return; // its batches are settled, another has taken its place
    this.#worker = null;
    const lost = this.#waiting;
    this.#waiting = [];
    for (const { reject } of lost) reject(unavailable(reason));
  }
}

function sendKey(worker: Worker, keyId: string, key: KeyObject): void {
  // The handle, not the bytes: the private key itself is in no message.
  const request: SignRequest = { keyId, key };
  worker.postMessage(request);
}

function unavailable(message: string): LogError {
  return new LogError('log_unavailable', message);
}
