// Entry bundles: u16 byte length ‖ entry, up to 256 times. C2SP tlog-tiles.

import { TILE_WIDTH } from './tile.ts';
import { concat, u16 } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';

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
