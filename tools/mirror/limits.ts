// How large what a mirror hands out may be, and what it may look like; the same for every kind of mirror.

import { TILE_WIDTH } from '../../log/index.ts';
import { parseBundle } from '../../log/operate.ts';

/** A checkpoint with very many cosignatures. */
export const MAX_NOTE_BYTES = 256 * 1024;
/** 256 entries of the largest size, each behind its length. */
export const MAX_BUNDLE_BYTES = TILE_WIDTH * (65_535 + 2);
export const MAX_TILE_BYTES = TILE_WIDTH * 32;

/** A mirror that does not answer, or with something that cannot be what was asked for. Proves nothing. */
export class MirrorTrouble extends Error {
  override readonly name = 'MirrorTrouble';
}

/** A tile or a bundle that the mirror says it does not have. */
export class MirrorMissing extends MirrorTrouble {
  /** As C2SP tlog-tiles names it. */
  readonly path: string;

  constructor(message: string, path: string) {
    super(message);
    this.path = path;
  }
}

/** A tile cut to its width. */
export function tileOf(bytes: Uint8Array, width: number, path: string): Uint8Array {
  if (bytes.length < width * 32 || bytes.length % 32 !== 0) {
    throw new MirrorTrouble(`${path} is ${String(bytes.length)} bytes, not ${String(width * 32)}`);
  }
  return bytes.subarray(0, width * 32);
}

/** The entries of a bundle cut to its width. */
export function bundleOf(bytes: Uint8Array, width: number, path: string): Uint8Array[] {
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
