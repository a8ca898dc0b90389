// UUIDv7 (RFC 9562 §5.7) that strictly increases with the index: its 48-bit time is issued_at_ms, its
// counter starts at random in each millisecond and counts up within one.

import { randomFillSync, randomInt } from 'node:crypto';
import { v7 } from 'uuid';

const random = new Uint8Array(4096);
let used = random.length;

/** Leaves room above it for every entry that one millisecond can hold. */
const HIGHEST_START = 0x3fffffff;

/** The counter of the next id: the last one's plus one within a millisecond, a fresh start otherwise. */
export const nextSeq = (ms: number, last_ms: number, last_seq: number): number =>
  ms === last_ms ? last_seq + 1 : randomInt(HIGHEST_START);

/** The id of an entry of this time and counter, in lower case. */
export function entryId(ms: number, seq: number): string {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  used += 16;
  return v7({ msecs: ms, seq, random: random.subarray(used - 16, used) });
}

/** The counter that an id was made with: where the next entry of its millisecond goes on. */
export function seqOf(entry_id: string): number {
  const digits = entry_id.replaceAll('-', '');
  const byte = (at: number): number => parseInt(digits.slice(2 * at, 2 * at + 2), 16);
  // RFC 9562 §5.7 with the counter of 32 bits that `v7` puts behind the version and the variant.
  const seq =
    ((byte(6) & 0x0f) << 28) |
    (byte(7) << 20) |
    ((byte(8) & 0x3f) << 14) |
    (byte(9) << 6) |
    (byte(10) >> 2);
  return seq >>> 0;
}
