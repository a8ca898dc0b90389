// Decompression of Snappy blocks (google/snappy, format_description.txt). LevelDB compresses the lists of blocks that a
// table ends with, unless compression is off.

import { Damaged, Varints } from './varints.ts';

/** The most that a block of a table may have; LevelDB makes them of 4 KiB and one row. */
const MAX_BYTES = 1 << 28;

/** The uncompressed bytes; what is no Snappy block is `Damaged` at the byte where the block begins. */
export function unsnappy(block: Buffer, at: number): Buffer {
  const reader = new Varints(block, 0);
  const length = reader.next();
  // No element makes more than 64 bytes of three, or as many as it has.
  if (length > MAX_BYTES || length > block.length * 64) throw new Damaged(at);
  const out = Buffer.alloc(length);
  let made = 0;
  const little = (bytes: number): number => {
    let n = 0;
    for (let i = 0; i < bytes; i += 1) {
      const byte = block[reader.at];
      if (byte === undefined) throw new Damaged(at);
      n += byte * 256 ** i;
      reader.at += 1;
    }
    return n;
  };
  while (reader.at < block.length) {
    const tag = little(1);
    const upper = tag >>> 2;
    if ((tag & 3) === 0) {
      const count = (upper < 60 ? upper : little(upper - 59)) + 1;
      const end = reader.at + count;
      if (end > block.length || made + count > length) throw new Damaged(at);
      out.set(block.subarray(reader.at, end), made);
      reader.at = end;
      made += count;
      continue;
    }
    const count = (tag & 3) === 1 ? 4 + (upper & 7) : upper + 1;
    const offset =
      (tag & 3) === 1 ? (tag >>> 5) * 256 + little(1) : little((tag & 3) === 2 ? 2 : 4);
    if (offset === 0 || offset > made || made + count > length) throw new Damaged(at);
    // Byte by byte: a copy may reach into what it is making.
    for (let i = 0; i < count; i += 1, made += 1) out[made] = out[made - offset] ?? 0;
  }
  if (made !== length) throw new Damaged(at);
  return out;
}
