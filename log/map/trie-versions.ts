// The frozen versions of a trie and what only they reach: each version lists the nodes that the version
// before reaches and it does not (the dead lists of ZFS), so that letting one go frees what nobody needs.

import { LogError } from '../errors.ts';

/** A version as it was frozen. */
export interface Frozen {
  readonly id: number;
  readonly root: Uint8Array;
  /** The root node, in the numbers of the trie. */
  readonly node: number;
  readonly keys: number;
}

interface Held extends Frozen {
  holds: number;
  /** Nodes that the version before reaches and this one does not. */
  dead: number[];
}

/** Where births are kept and records are freed: the trie itself. */
export interface NodeStore {
  birth(node: number): number;
  free(node: number): void;
}

/** Versions by ascending id; births are counted in epochs, one for each version. */
export class TrieVersions {
  readonly #nodes: NodeStore;
  #versions: Held[] = [];
  #dead: number[] = [];
  #epoch = 1;
  #newest = 0;

  constructor(nodes: NodeStore) {
    this.#nodes = nodes;
  }

  /** The birth of nodes made from now on; the id of the next version. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Nodes born up to here are reached by a version and must not change. */
  get newest(): number {
    return this.#newest;
  }

  /** A node of the newest version that the trie no longer reaches. */
  bury(node: number): void {
    this.#dead.push(node);
  }

  freeze(state: Omit<Frozen, 'id'>): Frozen {
    const version: Held = { ...state, id: this.#epoch, holds: 1, dead: this.#dead };
    this.#versions.push(version);
    this.#newest = version.id;
    this.#dead = [];
    this.#epoch++;
    return version;
  }

  hold(id: number): void {
    this.#held(id).holds++;
  }

  /** Lets go of a version; what only it reached is freed. */
  release(id: number): void {
    const version = this.#held(id);
    version.holds--;
    if (version.holds > 0) return;
    const at = this.#versions.indexOf(version);
    const before = this.#versions[at - 1]?.id ?? 0;
    const next = this.#versions[at + 1];
    const kept = version.dead;
    for (const node of next?.dead ?? this.#dead) {
      if (this.#nodes.birth(node) > before) this.#nodes.free(node);
      else kept.push(node);
    }
    if (next === undefined) this.#dead = kept;
    else next.dead = kept;
    this.#versions.splice(at, 1);
    this.#newest = this.#versions.at(-1)?.id ?? 0;
  }

  /** `out_of_range` when the version was released or never was. */
  get(id: number): Frozen {
    return this.#held(id);
  }

  #held(id: number): Held {
    const version = this.#versions.find((other) => other.id === id);
    if (version === undefined) {
      throw new LogError('out_of_range', `version ${String(id)} of the map is not held`);
    }
    return version;
  }
}
