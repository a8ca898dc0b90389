// Reads the roots of perfect subtrees from stored tiles.
//
// The inner hashes of a tile are not stored. They are computed with merkletreejs as a tree over the at most 256 hashes
// of the tile, set up as in RFC 6962: the leaves are hashes already, a node is SHA-256(01 ‖ left ‖ right), and a last
// node without a sibling is not hashed again. The layers of recently used tiles are cached. Server only.

import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { MerkleTree } from 'merkletreejs';
import { equal } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import { HASH_BYTES } from './hash.ts';
import type { HashReader } from './prove.ts';
import { TILE_HEIGHT, TILE_WIDTH, tileWidth } from './tile.ts';

/** All layers of one tile. `root` and `node` return copies. */
export interface TileLayers {
  /** The number of hashes in the tile, 1 to 256. */
  readonly width: number;
  /** The root of the tree over the hashes of the tile. */
  readonly root: Uint8Array;
  /**
   * The layers one after the other, first the tile's own hashes. The layer at a height has ceil(width / 2^height)
   * hashes.
   */
  readonly bytes: Uint8Array;
  /** The root of the perfect subtree over the hashes from index·2^height up to (index + 1)·2^height. */
  node(height: number, index: number): Uint8Array;
}

const NODE_INPUT = Buffer.alloc(1 + 2 * HASH_BYTES, 1);

/** Computes the layers of a tile of w·32 bytes, 1 ≤ w ≤ 256. */
export function tileLayers(hashes: Uint8Array): TileLayers {
  const width = hashes.length / HASH_BYTES;
  if (!Number.isInteger(width) || width < 1 || width > TILE_WIDTH) {
    throw new RangeError(`a tile of ${String(hashes.length)} bytes`);
  }
  // A copy, because the tree keeps views of it. Buffers, because merkletreejs reads other types as hex.
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

/** The input of a node hash. All calls share one buffer, because merkletreejs hashes it before the next call. */
function nodeInput([left, right]: readonly Buffer[]): Buffer {
  left?.copy(NODE_INPUT, 1);
  right?.copy(NODE_INPUT, 1 + HASH_BYTES);
  return NODE_INPUT;
}

/** Reads the first `width` hashes of a tile, width·32 bytes; null if they are not stored. */
export type ReadTile = (level: number, n: number, width: number) => Uint8Array | null;

const CACHE_BYTES = 64 * 1024 * 1024;
/** A tree below 2^64 leaves has the levels 0 to 7. */
const LEVELS = 8;

/** The subtrees of a growing tree. Only hashes that its current size implies are read. */
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

  /** Throws `out_of_range` beyond the size, `store_corrupt` if a tile is missing, truncated or damaged. */
  subtree(height: number, index: number): Uint8Array {
    const level = Math.floor(height / TILE_HEIGHT);
    const within = height % TILE_HEIGHT;
    const perTile = TILE_WIDTH >> within;
    const n = Math.floor(index / perTile);
    const place = index % perTile;
    return this.#layers(level, n, (place + 1) << within).node(within, place);
  }

  /** The first `width` hashes of a tile, width·32 bytes. Callers must not change them. Throws like `subtree`. */
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

  /** Compares a full tile with its root in the tile above it, so that no proof uses a damaged tile. */
  #checkParent(level: number, n: number, layers: TileLayers): void {
    if (layers.width < TILE_WIDTH) return;
    const above = this.#layers(level + 1, Math.floor(n / TILE_WIDTH), (n % TILE_WIDTH) + 1);
    if (!equal(above.node(0, n % TILE_WIDTH), layers.root)) {
      throw new LogError('store_corrupt', `tile ${String(level)}/${String(n)} is damaged`);
    }
  }
}
