// Tiles and entry bundles: their names, widths and encoding. C2SP tlog-tiles.

import { LogError } from '../errors.ts';

/** The number of hashes in a full tile, and of entries in a full bundle. */
export const TILE_WIDTH = 256;
/** The height of the subtree whose root is one hash in the tile above. */
export const TILE_HEIGHT = 8;

/** The level of a hash tile, 0 for leaf hashes; `entries` for entry bundles. */
export type TileLevel = number | 'entries';

/** A tile or entry bundle; `width` is 256 for a full one, else 1 to 255. */
export interface TileName {
  readonly level: TileLevel;
  readonly n: number;
  readonly width: number;
}

const MAX_LEVEL = 63;
// 2^53 - 1 has 16 digits, so 6 groups hold every number that is accepted.
const PATH =
  /^tile\/(entries|0|[1-9][0-9]?)\/((?:x[0-9]{3}\/){0,5}[0-9]{3})(?:\.p\/([1-9][0-9]{0,2}))?$/;

/** The path of a tile, such as `tile/0/x001/234.p/5`. Without a width, or with 256, it is that of the full tile. */
export function tilePath(level: TileLevel, n: number, width: number = TILE_WIDTH): string {
  const partial = width === TILE_WIDTH ? '' : `.p/${String(width)}`;
  return `tile/${String(level)}/${numberPath(n)}${partial}`;
}

/** Parses an untrusted path; null unless `tilePath` returns exactly this path. */
export function parseTilePath(path: string): TileName | null {
  const match = PATH.exec(path);
  if (match === null) return null;
  const [, levelText = '', numberText = '', widthText] = match;
  const level = levelText === 'entries' ? levelText : Number(levelText);
  if (level !== 'entries' && level > MAX_LEVEL) return null;
  const n = Number(numberText.replaceAll(/[x/]/g, ''));
  const width = widthText === undefined ? TILE_WIDTH : Number(widthText);
  if (!Number.isSafeInteger(n) || (widthText !== undefined && width >= TILE_WIDTH)) return null;
  // A leading group of zeros would be a second path of the same tile.
  return numberPath(n) === numberText ? { level, n, width } : null;
}

/** The number of hashes that a tile has in the tree of `size`: 0 to 256. */
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

/** Encodes an entry bundle. Throws `encoding_invalid` for an entry over 65,535 bytes. */
export function encodeBundle(entries: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(entries.reduce((sum, { length }) => sum + 2 + length, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const entry of entries) {
    if (entry.length > 0xffff) throw invalid('an entry is over 65,535 bytes');
    view.setUint16(at, entry.length);
    bytes.set(entry, at + 2);
    at += 2 + entry.length;
  }
  return bytes;
}

/** The entries of an untrusted bundle, as views of it. Throws `encoding_invalid` if it is truncated or has over 256. */
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
