// Another place that has a log: its C2SP prefix, served or as files. What comes from there is hostile
// until it is compared with a signed note. C2SP tlog-tiles.

import type { HashReader } from '../merkle/prove.ts';
import { TileHashes } from '../merkle/tile-hashes.ts';

/** Reads a log by its tiles. Each read rejects when the mirror does not have what it is asked for. */
export interface Mirror {
  /** What it is called in messages. */
  readonly name: string;
  /** The newest signed note. */
  checkpoint(): Promise<string>;
  /** `width` hashes of 32 bytes. */
  tile(level: number, n: number, width: number): Promise<Uint8Array>;
  /** The first `width` entries of a bundle. */
  bundle(n: number, width: number): Promise<readonly Uint8Array[]>;
}

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
 * Runs a computation over the tree of a mirror at a size, fetching the few tiles that it turns out to
 * need. Nothing of the result is proven: compare it with a root.
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
  // Each round brings one tile more; a tree of 2^53 leaves has seven levels of them.
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
