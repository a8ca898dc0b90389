// The head maps of the open logs, folded up from their heads off the event loop. log/FORMAT.md §4.1.
// The trie is updated round by round, and a map head cuts the pipeline. Server only.

import type { Worker } from 'node:worker_threads';
import { LogError } from '../errors.ts';
import { startThread } from '../thread.ts';
import type { MapProof } from './check.ts';
import { unpackProofs } from './fold-messages.ts';
import type { FoldAnswer, FoldCall } from './fold-messages.ts';
import { FoldTries, UPDATE_BYTES } from './fold-tries.ts';
import type { Cut } from './fold-tries.ts';

export type { Cut } from './fold-tries.ts';

/** The head map of one log. Calls take effect in the order in which they are made. */
export interface Fold {
  /** Fills the map, still empty, from a snapshot; null when it is missing or damaged. */
  load(path: string): Promise<{ covered: number; root: Uint8Array } | null>;
  /** Updates n × (skey[32] ‖ vhash[32]), later ones of a key winning. Takes the array's memory over. */
  apply(updates: Uint8Array): void;
  /** The root over all that was applied; that version stays provable until it is released. */
  cut(): Promise<Cut>;
  /**
   * The way to each key's slot in a cut version.
   *
   * @throws LogError `out_of_range` when the version is not held.
   */
  prove(version: number, skeys: readonly Uint8Array[]): Promise<MapProof[]>;
  /** Lets go of a cut version; twice is harmless. */
  release(version: number): void;
  /** Writes the last cut as a snapshot, atomically, while the map moves on. */
  save(path: string, covered: number): Promise<void>;
  /** Forgets the map, once what is being saved of it is saved. */
  close(): Promise<void>;
}

/** One thread for the maps of several logs, named by their caller. */
export interface FoldHost {
  trie(name: string): Fold;
  /** Waits for the calls under way, then ends the thread. */
  close(): Promise<void>;
}

/** Opens a fold: in a thread of its own, or in the caller's (tests, short-lived tools). */
export function openFold(options: { readonly threads: boolean }): FoldHost {
  return options.threads ? new ThreadHost() : new InlineHost();
}

class InlineHost implements FoldHost {
  readonly #tries = new FoldTries();
  readonly #names = new Set<string>();

  trie(name: string): Fold {
    const tries = this.#tries;
    this.#names.add(name);
    // Each call does its work at once, as one message after the other would; only its answer waits.
    return {
      load: async (path) => Promise.resolve(tries.load(name, path)),
      apply: (updates) => {
        tries.apply(name, checkUpdates(updates));
      },
      cut: async () => Promise.resolve(tries.cut(name)),
      prove: async (version, skeys) => Promise.resolve(tries.prove(name, version, skeys)),
      release: (version) => {
        tries.release(name, version);
      },
      save: (path, covered) => tries.save(name, path, covered),
      close: () => tries.close(name),
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#names].map((name) => this.#tries.close(name)));
  }
}

/** A call without its id. */
type Asked = FoldCall extends infer Call
  ? Call extends { id: number }
    ? Omit<Call, 'id'>
    : never
  : never;

/** Proofs of one version that are collected before they are asked for. */
interface Proving {
  readonly name: string;
  readonly version: number;
  readonly skeys: Uint8Array[];
  readonly send: () => void;
  readonly answer: Promise<MapProof[]>;
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

class ThreadHost implements FoldHost {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  readonly #calls = new Set<Promise<unknown>>();
  #nextId = 0;
  #ended: LogError | null = null;
  #proving: Proving | null = null;

  constructor() {
    this.#worker = startThread(import.meta.url, './fold-worker');
    this.#worker.on('message', (answer: FoldAnswer) => {
      this.#settle(answer);
    });
    this.#worker.on('error', (cause) => {
      this.#end(new LogError('log_unavailable', 'the fold thread has failed', { cause }));
    });
    this.#worker.on('exit', () => {
      this.#end(new LogError('log_unavailable', 'the fold thread has ended'));
    });
  }

  trie(name: string): Fold {
    return {
      load: async (path) =>
        (await this.#ask({ op: 'load', name, path })) as {
          covered: number;
          root: Uint8Array;
        } | null,
      apply: (updates) => {
        const owned = ownMemory(checkUpdates(updates));
        this.#flush();
        this.#worker.postMessage({ op: 'apply', name, updates: owned } satisfies FoldCall, [
          owned.buffer,
        ]);
      },
      cut: async () => (await this.#ask({ op: 'cut', name })) as Cut,
      prove: (version, skeys) => this.#prove(name, version, skeys),
      release: (version) => {
        this.#flush();
        this.#worker.postMessage({ op: 'release', name, version } satisfies FoldCall);
      },
      save: async (path, covered) => {
        await this.#ask({ op: 'save', name, path, covered });
      },
      close: async () => {
        await this.#ask({ op: 'close', name });
      },
    };
  }

  async close(): Promise<void> {
    this.#flush();
    await Promise.allSettled(this.#calls);
    await this.#worker.terminate();
  }

  /** A message costs more than a proof: what is asked in one turn of the loop crosses in one. */
  async #prove(name: string, version: number, skeys: readonly Uint8Array[]): Promise<MapProof[]> {
    const known = this.#proving;
    const proving =
      known?.name === name && known.version === version ? known : this.#collect(name, version);
    const from = proving.skeys.length;
    proving.skeys.push(...skeys);
    return (await proving.answer).slice(from, from + skeys.length);
  }

  #collect(name: string, version: number): Proving {
    this.#flush();
    const skeys: Uint8Array[] = [];
    let send = (): void => undefined;
    const answer = new Promise<MapProof[]>((resolve) => {
      send = () => {
        const asked = this.#ask({ op: 'prove', name, version, skeys });
        resolve(asked.then((packed) => unpackProofs(packed as Uint8Array)));
      };
    });
    const proving = { name, version, skeys, send, answer };
    this.#proving = proving;
    setImmediate(() => {
      if (this.#proving === proving) this.#flush();
    });
    return proving;
  }

  /** Sends the proofs that are being collected: calls take effect in the order in which they are made. */
  #flush(): void {
    const proving = this.#proving;
    this.#proving = null;
    proving?.send();
  }

  #ask(asked: Asked): Promise<unknown> {
    if (asked.op !== 'prove') this.#flush();
    if (this.#ended !== null) return Promise.reject(this.#ended);
    const id = this.#nextId++;
    // Idle, the thread keeps no process alive; a process waits for its answers.
    if (this.#waiting.size === 0) this.#worker.ref();
    const call = new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
    });
    this.#calls.add(call);
    const forget = (): void => void this.#calls.delete(call);
    call.then(forget, forget);
    this.#worker.postMessage({ ...asked, id } satisfies FoldCall);
    return call;
  }

  #settle(answer: FoldAnswer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (this.#waiting.size === 0) this.#worker.unref();
    if ('failed' in answer) {
      const { code, message } = answer.failed;
      waiting?.reject(code === undefined ? new Error(message) : new LogError(code, message));
    } else {
      waiting?.resolve(answer.result);
    }
  }

  #end(error: LogError): void {
    this.#ended ??= error;
    for (const waiting of this.#waiting.values()) waiting.reject(this.#ended);
    this.#waiting.clear();
  }
}

function checkUpdates(updates: Uint8Array): Uint8Array {
  if (updates.length % UPDATE_BYTES !== 0) {
    throw new Error(
      `updates are ${String(updates.length)} bytes, no multiple of ${String(UPDATE_BYTES)}`,
    );
  }
  return updates;
}

/** The array itself when all its memory is its own, else a copy: what is transferred is gone here. */
function ownMemory(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const whole = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength;
  return whole ? new Uint8Array(buffer) : Uint8Array.from(bytes);
}
