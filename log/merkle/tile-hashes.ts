// Subtrees out of stored tiles, with the inner layers of hot tiles kept in a bounded cache. Server only.

import { LRUCache } from 'lru-cache';

import { equal } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import { HASH_BYTES } from './hash.ts';
import type { HashReader } from './prove.ts';
import { TILE_HEIGHT, TILE_WIDTH, tileWidth } from './tile.ts';
import { tileLayers } from './tile-tree.ts';
import type { TileLayers } from './tile-tree.ts';

/** Reads `width` hashes of a tile, width·32 bytes; null when they are not stored. */
export type ReadTile = (level: number, n: number, width: number) => Uint8Array | null;

const CACHE_BYTES = 64 * 1024 * 1024;
/** Levels 0 to 7 hold every tree below 2^64 leaves. */
const LEVELS = 8;

/** The subtrees of a tree that grows; only what its present size implies is ever read. */
export class TileHashes implements HashReader {
  readonly #readTile: ReadTile;
  readonly #size: () => number;
  readonly #cache: LRUCache<number, TileLayers>;

  constructor(readTile: ReadTile, size: () => number, cacheBytes: number = CACHE_BYTES) {
    this.#readTile = readTile;
    this.#size = size;
    this.#cache = new LRUCache({
      maxSize: cacheBytes,
      sizeCalculation: (layers) => layers.bytes.length,
    });
  }

  /** `out_of_range` beyond the size, `store_corrupt` when a tile is missing or cut. */
  subtree(height: number, index: number): Uint8Array {
    const level = Math.floor(height / TILE_HEIGHT);
    const within = height % TILE_HEIGHT;
    const perTile = TILE_WIDTH >> within;
    const n = Math.floor(index / perTile);
    const place = index % perTile;
    return this.#layers(level, n, (place + 1) << within).node(within, place);
  }

  /** The first `width` hashes of a tile, width·32 bytes; not to be written to. Throws as `subtree` does. */
  tile(level: number, n: number, width: number): Uint8Array {
    return this.#layers(level, n, width).bytes.subarray(0, width * HASH_BYTES);
  }

  #layers(level: number, n: number, needed: number): TileLayers {
    const key = n * LEVELS + level;
    const known = this.#cache.get(key);
    if (known !== undefined && known.width >= needed) return known;
    const width = tileWidth(this.#size(), level, n);
    if (width < needed) {
      throw new LogError('out_of_range', `tile ${String(level)}/${String(n)} is not that wide yet`);
    }
    const hashes = this.#readTile(level, n, width);
    if (hashes?.length !== width * HASH_BYTES) {
      throw new LogError('store_corrupt', `tile ${String(level)}/${String(n)} is missing or cut`);
    }
    const layers = tileLayers(hashes);
    this.#checkParent(level, n, layers);
    this.#cache.set(key, layers);
    return layers;
  }

  /** A full tile's root stands in the tile above it: a damaged tile is found before anything rests on it. */
  #checkParent(level: number, n: number, layers: TileLayers): void {
    if (layers.width < TILE_WIDTH) return;
    const above = this.#layers(level + 1, Math.floor(n / TILE_WIDTH), (n % TILE_WIDTH) + 1);
    if (!equal(above.node(0, n % TILE_WIDTH), layers.root)) {
      throw new LogError('store_corrupt', `tile ${String(level)}/${String(n)} is damaged`);
    }
  }
}
