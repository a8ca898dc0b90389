// The side of a fold that holds the tries, in a thread of its own or in the caller's. Server only.

import type { MapProof } from './check.ts';
import { loadSnapshot, saveSnapshot } from './snapshot.ts';
import { HeadTrie } from './trie.ts';

/** Bytes of one update: skey[32] ‖ vhash[32]. */
export const UPDATE_BYTES = 64;

/**
 * Keys that may wait unhashed while there is nothing else to do. Hashing many at once shares the upper
 * nodes, hashing early makes a cut short: this many are hashed in some ten milliseconds.
 */
const HASH_EARLY = 1024;

/** A cut of a map: what was applied so far, kept. */
export interface Cut {
  readonly version: number;
  readonly root: Uint8Array;
  readonly keys: number;
}

interface Held {
  trie: HeadTrie;
  /** Held besides the caller, so that a save finds it. */
  lastCut: number | null;
  /** Versions that the caller holds. */
  readonly cuts: Set<number>;
  saving: Promise<void>;
  hashing: boolean;
}

/** Several head maps by name. Synchronous but for saving, so what comes in order is done in order. */
export class FoldTries {
  readonly #tries = new Map<string, Held>();

  /** Fills an empty map from a snapshot; null, and the map stays empty, when there is none. */
  load(name: string, path: string): { covered: number; root: Uint8Array } | null {
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

  /** Releasing a version twice is harmless. */
  release(name: string, version: number): void {
    const held = this.#held(name);
    if (held.cuts.delete(version)) held.trie.release(version);
  }

  /** Saves the last cut; saves of one map follow one another. */
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

  /** Forgets a map, once what is being saved of it is saved. */
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
