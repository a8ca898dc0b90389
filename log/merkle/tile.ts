// Tiles and entry bundles: their names, widths and encoding. C2SP tlog-tiles.

import { concat, u16 } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';

/** Hashes of a full tile, entries of a full bundle. */
export const TILE_WIDTH = 256;
/** Levels of the tree that one tile stands for. */
export const TILE_HEIGHT = 8;

/** The level of a hash tile, from 0 for leaf hashes, or the bundles of entries. */
export type TileLevel = number | 'entries';

/** What a path names; `width` is 256 for a full tile, else 1 to 255. */
export interface TileName {
  readonly level: TileLevel;
  readonly n: number;
  readonly width: number;
}

const MAX_LEVEL = 63;
// 2^53 - 1 has 16 digits, so 6 groups hold every number that is accepted.
const PATH =
  /^tile\/(entries|0|[1-9][0-9]?)\/((?:x[0-9]{3}\/){0,5}[0-9]{3})(?:\.p\/([1-9][0-9]{0,2}))?$/;

/** For example `tile/0/x001/234.p/5`; without a width, or with 256, the path of the full tile. */
export function tilePath(level: TileLevel, n: number, width: number = TILE_WIDTH): string {
  const partial = width === TILE_WIDTH ? '' : `.p/${String(width)}`;
  return `tile/${String(level)}/${numberPath(n)}${partial}`;
}

/** Reads a path, which may be anything; null unless it is exactly what `tilePath` writes. */
export function parseTilePath(path: string): TileName | null {
  const match = PATH.exec(path);
  if (match === null) return null;
  const [, levelText = '', numberText = '', widthText] = match;
  const level = levelText === 'entries' ? levelText : Number(levelText);
  if (level !== 'entries' && level > MAX_LEVEL) return null;
  const n = Number(numberText.replaceAll(/[x/]/g, ''));
  const width = widthText === undefined ? TILE_WIDTH : Number(widthText);
  if (!Number.isSafeInteger(n) || (widthText !== undefined && width >= TILE_WIDTH)) return null;
  // A leading group of zeros would be a second name.
  return numberPath(n) === numberText ? { level, n, width } : null;
}

/** How many hashes of that tile a tree of `size` leaves implies: 0 to 256. */
export function tileWidth(size: number, level: number, n: number): number {
  const hashes = Math.floor(size / TILE_WIDTH ** level) - n * TILE_WIDTH;
  return Math.min(Math.max(hashes, 0), TILE_WIDTH);
}

function numberPath(n: number): string {
  const digits = String(n);
  const padded = digits.padStart(Math.ceil(digits.length / 3) * 3, '0');
  const groups = padded.match(/[0-9]{3}/g) ?? [];
  return groups.map((group, i) => (i < groups.length - 1 ? `x${group}` : group)).join('/');
}

/** The bundle of these entries; one over 65,535 bytes is `encoding_invalid`. */
export function encodeBundle(entries: readonly Uint8Array[]): Uint8Array {
  return concat(...entries.flatMap((entry) => [u16(entry.length), entry]));
}

/** The entries of a bundle that may come from anybody, as views into it; `encoding_invalid` when it breaks off or holds over 256. */
export function parseBundle(bytes: Uint8Array): Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const entries: Uint8Array[] = [];
  let at = 0;
  while (at < bytes.length) {
    if (entries.length === TILE_WIDTH) throw invalid(`a bundle holds over ${String(TILE_WIDTH)}`);
    const start = at + 2;
    if (start > bytes.length) throw invalid('a bundle breaks off in a length');
    at = start + view.getUint16(start - 2);
    if (at > bytes.length) throw invalid('a bundle breaks off in an entry');
    entries.push(bytes.subarray(start, at));
  }
  return entries;
}

function invalid(message: string): LogError {
  return new LogError('encoding_invalid', message);
}
