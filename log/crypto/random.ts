// Random bytes in small pieces: one call to the system's generator serves hundreds of salts, keys and ids, each of
// which would cost as much by itself as the hash it goes into. Server only.

import { randomFillSync } from 'node:crypto';

const pool = Buffer.alloc(16_384);
let used = pool.length;

/** `count` bytes of the system's generator, at most 16,384; they are wiped from the pool as they are handed out. */
export function randomPiece(count: number): Buffer {
  if (used + count > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const piece = Buffer.from(pool.subarray(used, used + count));
  pool.fill(0, used, used + count);
  used += count;
  return piece;
}
