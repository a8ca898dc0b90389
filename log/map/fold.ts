// The head maps of the open logs, kept up to date off the event loop (log/FORMAT.md §4.1). Server only.
//
// A trie per log takes the new heads of each committed round. A map head cuts it: the root over everything that was
// applied before, whose version can be proved from until it is released. All tries of a process share one thread.

import { concat, u16 } from '../encoding/bytes.ts';
import { WorkerPool } from '../worker.ts';
import type { MapLeaf, MapProof } from './check.ts';
import { loadSnapshot, saveSnapshot } from './snapshot.ts';
import { HeadTrie } from './trie.ts';

/** Bytes of one update: skey[32] ‖ vhash[32]. */
const UPDATE_BYTES = 64;
const HASH_BYTES = 32;

/**
 * Keys that may wait unhashed while there is nothing else to do. Hashing many at once shares the upper nodes, hashing
 * early makes a cut short: this many are hashed in some ten milliseconds.
 */
const HASH_EARLY = 1024;

/** What a snapshot covers. */
interface Loaded {
  readonly covered: number;
  readonly root: Uint8Array;
}

/** A version of a map: everything that was applied before the cut. */
export interface Cut {
  readonly version: number;
  readonly root: Uint8Array;
  readonly keys: number;
}

/** The head map of one log. Calls take effect in the order in which they are made. */
export interface Fold {
  /** Fills an empty map from a snapshot; null when it is missing or damaged. */
  load(path: string): Promise<Loaded | null>;
  /** Updates n × (skey[32] ‖ vhash[32]), later ones of a key winning. Takes over the memory of the array. */
  apply(updates: Uint8Array): void;
  /** The root over all that was applied; this version can be proved from until it is released. */
  cut(): Promise<Cut>;
  /**
   * The path of each key in a cut version.
   *
   * @throws LogError `out_of_range` when the version is not held.
   */
  prove(version: number, skeys: readonly Uint8Array[]): Promise<MapProof[]>;
  /** Releases a cut version; releasing it twice is harmless. */
  release(version: number): void;
  /** Writes the last cut as a snapshot, atomically, while later updates are applied. */
  save(path: string, covered: number): Promise<void>;
  /** Forgets the map, once the saves under way are done. */
  close(): Promise<void>;
}

interface Held {
  trie: HeadTrie;
  /** Held for a save, whatever the caller releases. */
  lastCut: number | null;
  /** Versions that the caller holds. */
  readonly cuts: Set<number>;
  saving: Promise<void>;
  hashing: boolean;
}

/** Several head maps by name. Only saving is asynchronous, so calls take effect in their order. */
class FoldTries {
  readonly #tries = new Map<string, Held>();

  load(name: string, path: string): Loaded | null {
    const held = this.#held(name);
    if (held.trie.size > 0 || held.lastCut !== null) throw new Error('the map is not empty');
    const loaded = loadSnapshot(path);
    if (loaded === null) return null;
    held.trie = loaded.trie;
    return { covered: loaded.covered, root: loaded.trie.root() };
  }

  apply(name: string, updates: Uint8Array): void {
    const held = this.#held(name);
    for (let at = 0; at < updates.length; at += UPDATE_BYTES) {
      held.trie.set(updates.subarray(at, at + 32), updates.subarray(at + 32, at + UPDATE_BYTES));
    }
    if (held.hashing || held.trie.unhashed < HASH_EARLY) return;
    held.hashing = true;
    setImmediate(() => {
      held.hashing = false;
      if (held.trie.unhashed >= HASH_EARLY) held.trie.root();
    });
  }

  cut(name: string): Cut {
    const held = this.#held(name);
    const { id, root } = held.trie.freeze();
    held.trie.hold(id);
    if (held.lastCut !== null) held.trie.release(held.lastCut);
    held.lastCut = id;
    held.cuts.add(id);
    return { version: id, root, keys: held.trie.size };
  }

  prove(name: string, version: number, skeys: readonly Uint8Array[]): MapProof[] {
    const { trie } = this.#held(name);
    return skeys.map((skey) => trie.prove(version, skey));
  }

  release(name: string, version: number): void {
    const held = this.#held(name);
    if (held.cuts.delete(version)) held.trie.release(version);
  }

  /** Saves the last cut, after the saves of this map that are under way. */
  async save(name: string, path: string, covered: number): Promise<void> {
    const held = this.#held(name);
    const version = held.lastCut;
    if (version === null) throw new Error('there is no cut to save');
    const { trie } = held;
    trie.hold(version);
    const saved = held.saving
      .then(() => saveSnapshot(trie.records(version), covered, path))
      .finally(() => {
        trie.release(version);
      });
    held.saving = saved.catch(() => undefined);
    await saved;
  }

  async close(name: string): Promise<void> {
    await this.#tries.get(name)?.saving;
    this.#tries.delete(name);
  }

  #held(name: string): Held {
    let held = this.#tries.get(name);
    if (held === undefined) {
      held = {
        trie: new HeadTrie(),
        lastCut: null,
        cuts: new Set(),
        saving: Promise.resolve(),
        hashing: false,
      };
      this.#tries.set(name, held);
    }
    return held;
  }
}

interface Named {
  readonly name: string;
}

/** The jobs of the fold thread, which holds the tries. */
export const threadJobs = {
  url: import.meta.url,
  make: () => {
    const tries = new FoldTries();
    return {
      load: { run: ({ name, path }: Named & { path: string }) => tries.load(name, path) },
      apply: {
        run: ({ name, updates }: Named & { updates: Uint8Array<ArrayBuffer> }) => {
          tries.apply(name, updates);
        },
        takes: ({ updates }: { updates: Uint8Array<ArrayBuffer> }) => [updates.buffer],
      },
      cut: { run: ({ name }: Named) => tries.cut(name) },
      prove: {
        run: ({ name, version, skeys }: Named & { version: number; skeys: Uint8Array[] }) =>
          packProofs(tries.prove(name, version, skeys)),
      },
      release: {
        run: ({ name, version }: Named & { version: number }) => {
          tries.release(name, version);
        },
      },
      save: {
        run: ({ name, path, covered }: Named & { path: string; covered: number }) =>
          tries.save(name, path, covered),
      },
      close: { run: ({ name }: Named) => tries.close(name) },
    };
  },
};

/** Proofs of one version that are collected before they are asked for. */
interface Proving {
  readonly name: string;
  readonly version: number;
  readonly skeys: Uint8Array[];
  readonly send: () => void;
  readonly answer: Promise<MapProof[]>;
}

/** One thread for the maps of several logs, named by their caller. */
export class FoldHost {
  readonly #workers: WorkerPool<ReturnType<typeof threadJobs.make>>;
  readonly #names = new Set<string>();
  #proving: Proving | null = null;

  constructor({ threads }: { readonly threads: boolean }) {
    // A thread that ends takes the tries with it, so it is not replaced.
    this.#workers = new WorkerPool(threadJobs, {
      name: 'fold',
      threads: threads ? 1 : 0,
      replace: false,
    });
  }

  trie(name: string): Fold {
    this.#names.add(name);
    const workers = this.#workers;
    const inOrder = <Result>(call: () => Result): Result => {
      this.#flush();
      return call();
    };
    return {
      load: (path) => inOrder(() => workers.run('load', { name, path })),
      apply: (updates) => {
        const owned = ownMemory(checkUpdates(updates));
        inOrder(() => {
          workers.tell('apply', { name, updates: owned });
        });
      },
      cut: () => inOrder(() => workers.run('cut', { name })),
      prove: (version, skeys) => this.#prove(name, version, skeys),
      release: (version) => {
        inOrder(() => {
          workers.tell('release', { name, version });
        });
      },
      save: (path, covered) => inOrder(() => workers.run('save', { name, path, covered })),
      close: () => inOrder(() => workers.run('close', { name })),
    };
  }

  /** Waits for the calls under way, then ends the thread. */
  async close(): Promise<void> {
    this.#flush();
    await Promise.allSettled([...this.#names].map((name) => this.#workers.run('close', { name })));
    await this.#workers.close();
  }

  /** A message costs more than a proof, so the proofs that one turn of the event loop asks for cross in one. */
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
        resolve(this.#workers.run('prove', { name, version, skeys }).then(unpackProofs));
      };
    });
    const proving = { name, version, skeys, send, answer };
    this.#proving = proving;
    setImmediate(() => {
      if (this.#proving === proving) this.#flush();
    });
    return proving;
  }

  /** Sends the proofs that are being collected, before the next call. */
  #flush(): void {
    const proving = this.#proving;
    this.#proving = null;
    proving?.send();
  }
}

/** Opens a fold: in a thread of its own, or on the calling thread (tests, short-lived tools). */
export const openFold = (options: { readonly threads: boolean }): FoldHost => new FoldHost(options);

function checkUpdates(updates: Uint8Array): Uint8Array {
  if (updates.length % UPDATE_BYTES !== 0) {
    throw new Error(
      `updates are ${String(updates.length)} bytes, no multiple of ${String(UPDATE_BYTES)}`,
    );
  }
  return updates;
}

/** The array itself when it owns its whole buffer, else a copy: the buffer moves to the thread. */
function ownMemory(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const whole = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength;
  return whole ? new Uint8Array(buffer) : Uint8Array.from(bytes);
}

/**
 * Proofs as one array of bytes, since cloning each of some twenty siblings would cost the log's thread more than
 * taking them apart. For each proof: u16 siblings ‖ u16 leaf (0 or 1) ‖ siblings[32 each, zeros for null] ‖ skey ‖ vhash.
 */
export function packProofs(proofs: readonly MapProof[]): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const { siblings, leaf } of proofs) {
    parts.push(u16(siblings.length), u16(leaf === null ? 0 : 1));
    for (const sibling of siblings) parts.push(sibling ?? new Uint8Array(HASH_BYTES));
    if (leaf !== null) parts.push(leaf.skey, leaf.vhash);
  }
  return concat(...parts);
}

/** The proofs of packProofs, as views of its bytes. */
export function unpackProofs(bytes: Uint8Array): MapProof[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const proofs: MapProof[] = [];
  let at = 0;
  const next = (): Uint8Array => bytes.subarray(at, (at += HASH_BYTES));
  while (at < bytes.length) {
    const count = view.getUint16(at);
    const hasLeaf = view.getUint16(at + 2) === 1;
    at += 4;
    const siblings: (Uint8Array | null)[] = [];
    while (siblings.length < count) {
      const sibling = next();
      // Only the root of the empty map is 32 zero bytes.
      siblings.push(sibling.every((byte) => byte === 0) ? null : sibling);
    }
    const leaf: MapLeaf | null = hasLeaf ? { skey: next(), vhash: next() } : null;
    proofs.push({ siblings, leaf });
  }
  return proofs;
}
