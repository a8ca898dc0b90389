// The fold: keeps the head maps of the open logs up to date on a thread of its own (log/FORMAT.md §4.1). Server only.
//
// There is one trie for each log. The committer applies the new heads of each round to it. For a map head, the
// publisher cuts it: the cut is a version with everything that was applied before, for which the fold makes proofs
// until the version is released.

import { concat, u16 } from '../encoding/bytes.ts';
import { WorkerPool } from '../worker.ts';
import type { MapLeaf, MapProof } from './check.ts';
import { loadSnapshot, saveSnapshot } from './snapshot.ts';
import { HeadTrie } from './trie.ts';

/** Bytes of one update: skey[32] ‖ vhash[32]. */
const UPDATE_BYTES = 64;
const HASH_BYTES = 32;

/**
 * How many changed keys the thread collects before it hashes them. Hashing many keys together computes their common
 * upper nodes once; hashing before the cut makes the cut short. This many keys take about ten milliseconds.
 */
const HASH_EARLY = 1024;

/** A loaded snapshot: the index of its map head, and the root of its map. */
interface Loaded {
  readonly covered: number;
  readonly root: Uint8Array;
}

/** A version of a map, which contains everything that was applied before the cut. */
export interface Cut {
  readonly version: number;
  readonly root: Uint8Array;
  readonly keys: number;
}

/** The head map of one log. Calls take effect in the order in which they are made. */
export interface Fold {
  /** Fills an empty map from a snapshot; null if the snapshot is missing or damaged. */
  load(path: string): Promise<Loaded | null>;
  /**
   * Applies updates n × (skey[32] ‖ vhash[32]); of several for one key, the last one counts. The array is transferred
   * to the thread, so the caller must not use it afterwards.
   */
  apply(updates: Uint8Array): void;
  /** Makes a version with all updates applied so far, and holds it until `release`. */
  cut(): Promise<Cut>;
  /**
   * Proves for each key that a cut version contains it or does not.
   *
   * @throws LogError `out_of_range` if the version was released
   */
  prove(version: number, skeys: readonly Uint8Array[]): Promise<MapProof[]>;
  /** Releases a cut version. A second release has no effect. */
  release(version: number): void;
  /** Writes the last cut as a snapshot, which replaces the file atomically. Later updates are applied meanwhile. */
  save(path: string, covered: number): Promise<void>;
  /** Discards the map when the saves in progress have finished. */
  close(): Promise<void>;
}

interface Held {
  trie: HeadTrie;
  /** The newest cut. It is held in addition to `cuts`, so that it can be saved after the caller has released it. */
  lastCut: number | null;
  /** Versions that the caller holds. */
  readonly cuts: Set<number>;
  saving: Promise<void>;
  hashing: boolean;
}

/** The head maps of the thread, by name. Only saving is asynchronous, so other calls take effect in their order. */
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

  /** Saves the last cut after earlier saves of this map have finished. */
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

/** Keys whose proofs in one version are requested with one message. */
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
    // The tries are lost when the thread ends, so a new thread could not continue: every later call is rejected.
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

  /** Waits for the calls in progress, then ends the thread. */
  async close(): Promise<void> {
    this.#flush();
    await Promise.allSettled([...this.#names].map((name) => this.#workers.run('close', { name })));
    await this.#workers.close();
  }

  /**
   * A message costs more than a proof, so all proofs that are requested in one turn of the event loop share a message.
   */
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

  /** Sends the collected request for proofs, so that later calls take effect after it. */
  #flush(): void {
    const proving = this.#proving;
    this.#proving = null;
    proving?.send();
  }
}

/** Opens a fold with a thread or, for tests and short-lived tools, on the calling thread. */
export const openFold = (options: { readonly threads: boolean }): FoldHost => new FoldHost(options);

function checkUpdates(updates: Uint8Array): Uint8Array {
  if (updates.length % UPDATE_BYTES !== 0) {
    throw new Error(
      `updates are ${String(updates.length)} bytes, no multiple of ${String(UPDATE_BYTES)}`,
    );
  }
  return updates;
}

/** The array if it is the only view of its buffer, else a copy, because the whole buffer is transferred. */
function ownMemory(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const whole = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength;
  return whole ? new Uint8Array(buffer) : Uint8Array.from(bytes);
}

/**
 * Packs proofs into one array. A structured clone of some twenty siblings would cost the log's thread more than
 * unpacking them. Each proof is u16 siblings ‖ u16 leaf (0 or 1) ‖ siblings[32 each, zeros for null] ‖ skey ‖ vhash.
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

/** Unpacks what `packProofs` returned. The proofs are views of `bytes`. */
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
      // 32 zero bytes denote an empty subtree: no node has that hash.
      siblings.push(sibling.every((byte) => byte === 0) ? null : sibling);
    }
    const leaf: MapLeaf | null = hasLeaf ? { skey: next(), vhash: next() } : null;
    proofs.push({ siblings, leaf });
  }
  return proofs;
}
