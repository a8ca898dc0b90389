// A mirror by whatever gives its files: `checkpoint`, `tile/…` and `tile/entries/…`. C2SP tlog-tiles.

import { TILE_WIDTH } from '../../log/index.ts';
import type { TileLevel } from '../../log/index.ts';
import { tilePath } from '../../log/operate.ts';
import type { Mirror } from '../../log/operate.ts';
import { bundleOf, MAX_BUNDLE_BYTES, MAX_TILE_BYTES, MirrorMissing, tileOf } from './limits.ts';

/** What mirrors have in common; a partial tile may be gone once it has grown full. */
export abstract class TiledMirror implements Mirror {
  abstract readonly name: string;

  abstract checkpoint(): Promise<string>;

  abstract close(): Promise<void>;

  /** The bytes of a file, at most `limit`; null where there is none. */
  protected abstract read(path: string, limit: number): Promise<Uint8Array | null>;

  /** Says that there is no such file. */
  protected abstract missing(path: string): string;

  async tile(level: number, n: number, width: number): Promise<Uint8Array> {
    const { bytes, path } = await this.#tile(level, n, width, MAX_TILE_BYTES);
    return tileOf(bytes, width, path);
  }

  async bundle(n: number, width: number): Promise<readonly Uint8Array[]> {
    const { bytes, path } = await this.#tile('entries', n, width, MAX_BUNDLE_BYTES);
    return bundleOf(bytes, width, path);
  }

  /** The partial one that was asked for, or the full one that has taken its place. */
  async #tile(level: TileLevel, n: number, width: number, limit: number) {
    for (const path of new Set([tilePath(level, n, width), tilePath(level, n, TILE_WIDTH)])) {
      const bytes = await this.read(path, limit);
      if (bytes !== null) return { bytes, path };
    }
    const path = tilePath(level, n, width);
    throw new MirrorMissing(this.missing(path), path);
  }
}
