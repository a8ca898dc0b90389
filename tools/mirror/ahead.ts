// The entries of a mirror in order, with the next bundles on their way while one is being worked on.

import { TILE_WIDTH } from '../../log/index.ts';
import { tileWidth } from '../../log/operate.ts';
import type { Mirror } from '../../log/operate.ts';

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
