// What all kinds of mirrors share: the limits on what they answer, and a mirror over anything that gives the files
// `checkpoint`, `tile/…` and `tile/entries/…` (C2SP tlog-tiles).

import { TILE_WIDTH } from '../../log/index.ts';
import type { TileLevel } from '../../log/index.ts';
import { parseBundle, tilePath, tileWidth } from '../../log/operate.ts';
import type { Mirror } from '../../log/operate.ts';

/** A checkpoint with very many cosignatures. */
export const MAX_NOTE_BYTES = 256 * 1024;
/** 256 entries of the largest size, each behind its length. */
const MAX_BUNDLE_BYTES = TILE_WIDTH * (65_535 + 2);
const MAX_TILE_BYTES = TILE_WIDTH * 32;

const MIRROR_TROUBLE_BRAND = Symbol.for('actlog.MirrorTrouble');

/** A mirror that does not answer, or with something that cannot be what was asked for. Proves nothing. */
export class MirrorTrouble extends Error {
  override readonly name = 'MirrorTrouble';
  readonly [MIRROR_TROUBLE_BRAND] = true;
}

/** Whether a thrown value is a `MirrorTrouble`. */
export const isMirrorTrouble = (thrown: unknown): thrown is MirrorTrouble =>
  thrown instanceof Error && MIRROR_TROUBLE_BRAND in thrown;

const MIRROR_MISSING_BRAND = Symbol.for('actlog.MirrorMissing');

/** A tile or a bundle that the mirror says it does not have. */
export class MirrorMissing extends MirrorTrouble {
  readonly [MIRROR_MISSING_BRAND] = true;
  /** As C2SP tlog-tiles names it. */
  readonly path: string;

  constructor(message: string, path: string) {
    super(message);
    this.path = path;
  }
}

/** Whether a thrown value is a `MirrorMissing`. */
export const isMirrorMissing = (thrown: unknown): thrown is MirrorMissing =>
  thrown instanceof Error && MIRROR_MISSING_BRAND in thrown;

/** A tile cut to its width. */
export function tileOf(bytes: Uint8Array, width: number, path: string): Uint8Array {
  if (bytes.length < width * 32 || bytes.length % 32 !== 0) {
    throw new MirrorTrouble(`${path} is ${String(bytes.length)} bytes, not ${String(width * 32)}`);
  }
  return bytes.subarray(0, width * 32);
}

/** The entries of a bundle cut to its width. */
function bundleOf(bytes: Uint8Array, width: number, path: string): Uint8Array[] {
  let entries: Uint8Array[];
  try {
    entries = parseBundle(bytes);
  } catch (error) {
    throw new MirrorTrouble(`${path}: ${(error as Error).message}`);
  }
  if (entries.length < width) {
    throw new MirrorTrouble(`${path} has ${String(entries.length)} entries, not ${String(width)}`);
  }
  return entries.slice(0, width);
}

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

// The entries of a mirror in order. The next bundles are fetched while one is being worked on.

/** Bundles that are fetched ahead. */
const AHEAD = 4;

/** Entries from an index up to a size, one bundle at a time. Rejects as the mirror does. */
export async function* entriesAhead(
  mirror: Mirror,
  from: number,
  size: number,
): AsyncGenerator<readonly Uint8Array[]> {
  if (from >= size) return;
  const first = Math.floor(from / TILE_WIDTH);
  const coming: Promise<readonly Uint8Array[]>[] = [];
  let next = first;
  for (let n = first; n * TILE_WIDTH < size; n += 1) {
    for (; next <= n + AHEAD && next * TILE_WIDTH < size; next += 1) {
      const bundle = mirror.bundle(next, tileWidth(size, 0, next));
      bundle.catch(() => undefined); // it is awaited in its turn
      coming.push(bundle);
    }
    const bundle = (await coming.shift()) ?? [];
    yield n === first ? bundle.slice(from - n * TILE_WIDTH) : bundle;
  }
}
