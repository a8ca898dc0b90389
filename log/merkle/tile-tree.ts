// The tree inside one tile: merkletreejs over at most 256 hashes, set up as RFC 6962 (leaves hashed
// already, nodes 01 ‖ left ‖ right, nothing else; a lone last node rises as it is). Server only.

import { hash } from 'node:crypto';

import { MerkleTree } from 'merkletreejs';

import { HASH_BYTES } from './hash.ts';
import { TILE_WIDTH } from './tile.ts';

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
