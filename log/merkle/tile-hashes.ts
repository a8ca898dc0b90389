// The hashes inside stored tiles. The layers of one tile are a merkletreejs tree over at most 256 hashes, set up as in
// RFC 6962 (leaves are hashes already; nodes are 01 ‖ left ‖ right; a lone last node is not hashed again). The layers of
// the tiles used last are cached. Server only.

import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { MerkleTree } from 'merkletreejs';
import { equal } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import { HASH_BYTES } from './hash.ts';
import type { HashReader } from './prove.ts';
import { TILE_HEIGHT, TILE_WIDTH, tileWidth } from './tile.ts';

/** All layers of one tile. What it hands out is a copy. */
export interface TileLayers {
  /** How many hashes the tile has, 1 to 256. */
  readonly width: number;
  /** Root over all hashes of the tile, as if they were the whole tree. */
  readonly root: Uint8Array;
  /** Every layer after the other, the tile's own hashes first; ceil(width / 2^height) hashes in a layer. */
  readonly bytes: Uint8Array;
  /** Root of the complete subtree over the hashes index·2^height up to (index + 1)·2^height. */
  node(height: number, index: number): Uint8Array;
}

const NODE_INPUT = Buffer.alloc(1 + 2 * HASH_BYTES, 1);

/** Hashes one tile of w·32 bytes, 1 ≤ w ≤ 256. */
export function tileLayers(hashes: Uint8Array): TileLayers {
  const width = hashes.length / HASH_BYTES;
  if (!Number.isInteger(width) || width < 1 || width > TILE_WIDTH) {
    throw new RangeError(`a tile of ${String(hashes.length)} bytes`);
  }
  // A copy, since the tree keeps views; Buffers, since merkletreejs reads strings as hex.
  const tile = Buffer.from(hashes);
  const leaves = Array.from({ length: width }, (_, i) => hashAt(tile, i));
  const tree = new MerkleTree(leaves, sha256, { concatenator: nodeInput });
  const bytes = Buffer.concat(tree.getLayers().flat());
  return new FlatLayers(width, new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length));
}

class FlatLayers implements TileLayers {
  readonly width: number;
  readonly bytes: Uint8Array;

  constructor(width: number, bytes: Uint8Array) {
    this.width = width;
    this.bytes = bytes;
  }

  get root(): Uint8Array {
    return this.bytes.slice(-HASH_BYTES);
  }

  node(height: number, index: number): Uint8Array {
    if (index < 0 || (index + 1) << height > this.width) {
      throw new RangeError(
        `subtree ${String(height)}/${String(index)} of a tile of ${String(this.width)}`,
      );
    }
    let start = index;
    let layer = this.width;
    for (let below = 0; below < height; below++, layer = Math.ceil(layer / 2)) start += layer;
    return this.bytes.slice(start * HASH_BYTES, (start + 1) * HASH_BYTES);
  }
}

function hashAt(bytes: Buffer, i: number): Buffer {
  return bytes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES);
}

function sha256(bytes: Buffer): Buffer {
  return hash('sha256', bytes, 'buffer');
}

/** One buffer for all nodes: each is hashed before the next is written. */
function nodeInput([left, right]: readonly Buffer[]): Buffer {
  left?.copy(NODE_INPUT, 1);
  right?.copy(NODE_INPUT, 1 + HASH_BYTES);
  return NODE_INPUT;
}

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
