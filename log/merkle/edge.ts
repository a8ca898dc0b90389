// The right edge of the log tree: the one partial tile of each level, from which the tree grows.
// A tile is hashed upward only when it is full; its root is the next hash of the level above. C2SP
// tlog-tiles. Server only.

import { native } from '../crypto/native.ts';
import { LogError } from '../errors.ts';
import { HASH_BYTES } from './hash.ts';
import { rootAt } from './prove.ts';
import { TILE_HEIGHT, TILE_WIDTH } from './tile.ts';
import { tileLayers } from './tile-hashes.ts';
import type { TileLayers } from './tile-hashes.ts';

/** A tile that changed: its w hashes of 32 bytes. */
export interface DirtyTile {
  readonly level: number;
  readonly n: number;
  readonly hashes: Uint8Array;
}

/** The partial tile of a level, width 0 to 255. */
interface EdgeTile {
  n: number;
  width: number;
  dirty: boolean;
  readonly hashes: Uint8Array;
  /** Layers over the present width, once they were asked for. */
  layers: TileLayers | null;
}

/** Appends leaf hashes to a tree of which it holds nothing but the edge. */
export class RightEdge {
  #size = 0;
  #levels: EdgeTile[] = [];
  /** Full tiles since the last take, in the order in which they filled. */
  #full: DirtyTile[] = [];

  /**
   * The edge of a stored tree. `readTile` is asked for the partial tile of each level; `store_corrupt`
   * when it answers with another number of bytes than width·32, `out_of_range` for what is no size.
   */
  static restore(
    size: number,
    readTile: (level: number, n: number, width: number) => Uint8Array,
  ): RightEdge {
    if (!Number.isSafeInteger(size) || size < 0) {
      throw new LogError('out_of_range', `${String(size)} is not a size from 0 to 2^53 - 1`);
    }
    const edge = new RightEdge();
    edge.#size = size;
    for (let hashes = size, level = 0; hashes > 0; level++) {
      const width = hashes % TILE_WIDTH;
      hashes = Math.floor(hashes / TILE_WIDTH);
      const tile = emptyTile(hashes);
      tile.width = width;
      if (width > 0) {
        const stored = readTile(level, hashes, width);
        if (stored.length !== width * HASH_BYTES) {
          throw new LogError('store_corrupt', `tile ${String(level)}/${String(hashes)} is cut`);
        }
        tile.hashes.set(stored);
      }
      edge.#levels.push(tile);
    }
    return edge;
  }

  /** How many leaves the tree has. */
  get size(): number {
    return this.#size;
  }

  /** Adds a leaf by its 32-byte hash. */
  append(leafHash: Uint8Array): void {
    if (leafHash.length !== HASH_BYTES) throw new RangeError('a leaf hash is 32 bytes');
    let hash = leafHash;
    for (let level = 0; ; level++) {
      const tile = (this.#levels[level] ??= emptyTile(0));
      tile.hashes.set(hash, tile.width * HASH_BYTES);
      tile.width++;
      tile.dirty = true;
      tile.layers = null;
      if (tile.width < TILE_WIDTH) break;
      this.#full.push({ level, n: tile.n, hashes: tile.hashes.slice() });
      hash = tileLayers(tile.hashes).root;
      tile.n++;
      tile.width = 0;
      tile.dirty = false;
    }
    this.#size++;
  }

  /** Root of the tree; between appends it costs a few hashes. */
  root(): Uint8Array {
    return rootAt({ subtree: (height, index) => this.#peak(height, index) }, native, this.#size);
  }

  /** Copies of all tiles that changed since the last take: full ones first, then what is partial. */
  takeDirty(): DirtyTile[] {
    const dirty = this.#full;
    this.#full = [];
    for (const [level, tile] of this.#levels.entries()) {
      if (!tile.dirty) continue;
      tile.dirty = false;
      dirty.push({ level, n: tile.n, hashes: tile.hashes.slice(0, tile.width * HASH_BYTES) });
    }
    return dirty;
  }

  /** A second edge that grows on its own, with the same tiles to take. */
  clone(): RightEdge {
    const edge = new RightEdge();
    edge.#size = this.#size;
    edge.#levels = this.#levels.map((tile) => ({ ...tile, hashes: tile.hashes.slice() }));
    edge.#full = [...this.#full];
    return edge;
  }

  /** A complete subtree at the edge: they all lie in partial tiles. */
  #peak(height: number, index: number): Uint8Array {
    const level = Math.floor(height / TILE_HEIGHT);
    const within = height % TILE_HEIGHT;
    const tile = this.#levels[level];
    if (tile === undefined) throw new RangeError(`no level ${String(level)} at the edge`);
    tile.layers ??= tileLayers(tile.hashes.subarray(0, tile.width * HASH_BYTES));
    return tile.layers.node(within, index % (TILE_WIDTH >> within));
  }
}

function emptyTile(n: number): EdgeTile {
  return {
    n,
    width: 0,
    dirty: false,
    hashes: new Uint8Array(TILE_WIDTH * HASH_BYTES),
    layers: null,
  };
}
