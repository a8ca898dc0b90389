// A mirror: a copy of a log under a C2SP tlog-tiles prefix, on a server or in a folder. Everything that is read from it
// is untrusted until it has been compared with a signed note.

import type { HashReader } from '../merkle/prove.ts';
import { TileHashes } from '../merkle/tile-hashes.ts';

/** Reads a mirror. Each read rejects if the mirror does not have the tile or bundle. */
export interface Mirror {
  /** The URL or folder of the mirror, for messages. */
  readonly name: string;
  /** The newest signed note. */
  checkpoint(): Promise<string>;
  /** `width` hashes of 32 bytes. */
  tile(level: number, n: number, width: number): Promise<Uint8Array>;
  /** The first `width` entries of a bundle. */
  bundle(n: number, width: number): Promise<readonly Uint8Array[]>;
}

/** Thrown inside `compute` for a tile that has not been fetched yet. */
class Missing extends Error {
  readonly level: number;
  readonly n: number;
  readonly width: number;

  constructor(level: number, n: number, width: number) {
    super('a tile is not fetched yet');
    this.level = level;
    this.n = n;
    this.width = width;
  }
}

/**
 * Runs a synchronous computation over the tree of a mirror at a size. It is run again from the start after each tile
 * that it lacked was fetched. The result is not verified: the caller compares it with a root that it trusts.
 */
export async function overTiles<T>(
  mirror: Mirror,
  size: number,
  compute: (hashes: HashReader) => T,
): Promise<T> {
  const tiles = new Map<string, Uint8Array>();
  const hashes = new TileHashes(
    (level, n, width) => {
      const tile = tiles.get(`${String(level)}/${String(n)}`);
      if (tile === undefined) throw new Missing(level, n, width);
      return tile;
    },
    () => size,
  );
  // Each repetition has one more tile. A path needs at most seven, the levels of a tree of 2^53 leaves.
  for (;;) {
    try {
      return compute(hashes);
    } catch (error) {
      if (!(error instanceof Missing)) throw error;
      const { level, n, width } = error;
      tiles.set(`${String(level)}/${String(n)}`, await mirror.tile(level, n, width));
    }
  }
}
