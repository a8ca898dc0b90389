// The right edge of the log tree: the partial tile of each level, to which new hashes are appended. When a tile is
// full, its root is appended to the partial tile of the level above (C2SP tlog-tiles). Server only.

import { native } from '../crypto/native.ts';
import { LogError } from '../errors.ts';
import { HASH_BYTES } from './hash.ts';
import { rootAt } from './prove.ts';
import { TILE_HEIGHT, TILE_WIDTH } from './tile.ts';
import { tileLayers } from './tile-hashes.ts';
import type { TileLayers } from './tile-hashes.ts';

/** A changed tile, which must be written. */
export interface DirtyTile {
  readonly level: number;
  readonly n: number;
  readonly hashes: Uint8Array;
}

/** The partial tile of a level. Its width is 0 to 255. */
interface EdgeTile {
  n: number;
  width: number;
  dirty: boolean;
  readonly hashes: Uint8Array;
  /** The layers over the current width; null until they are needed. */
  layers: TileLayers | null;
}

/** Appends leaf hashes to a tree, and computes its root, with only the partial tiles in memory. */
export class RightEdge {
  #size = 0;
  #levels: EdgeTile[] = [];
  /** The tiles that became full since the last `takeDirty`, oldest first. */
  #full: DirtyTile[] = [];

  /**
   * The edge of a stored tree.
   *
   * @param readTile returns the first `width` hashes of a tile; called for the partial tile of each level
   * @throws LogError `store_corrupt` if `readTile` returns another length than width·32, `out_of_range` for a bad size
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

  /** The number of leaves. */
  get size(): number {
    return this.#size;
  }

  /** Appends a leaf by its hash of 32 bytes. */
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

  /** The root of the tree. A repeated call costs a few hashes. */
  root(): Uint8Array {
    return rootAt({ subtree: (height, index) => this.#peak(height, index) }, native, this.#size);
  }

  /** Copies of all tiles that changed since the last call: the full ones first, then the partial ones. */
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

  /** Copies of the partial tiles, changed or not. */
  partialTiles(): DirtyTile[] {
    return this.#levels.flatMap(({ n, width, hashes }, level) =>
      width === 0 ? [] : [{ level, n, hashes: hashes.slice(0, width * HASH_BYTES) }],
    );
  }

  /** An independent copy. Both return the same tiles from their next `takeDirty`. */
  clone(): RightEdge {
    const edge = new RightEdge();
    edge.#size = this.#size;
    edge.#levels = this.#levels.map((tile) => ({ ...tile, hashes: tile.hashes.slice() }));
    edge.#full = [...this.#full];
    return edge;
  }

  /** The root of a perfect subtree. Those that the root of the tree is computed from all lie in partial tiles. */
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
