// Permutations that anyone draws again from the seed, in any language: SHAKE128 as the source of numbers, and the
// shuffle of Fisher and Yates. FIPS 202.

import { createHash } from 'node:crypto';

/** What the source begins with; another rule gets another name. */
const LABEL = 'actlog/orn/sharp/v1';
const BLOCK_BYTES = 65_536;
const WORDS = 2 ** 32;

/**
 * Uniform integers below a bound. The source is the blocks SHAKE128(label ‖ u64 seed ‖ u64 number of the block),
 * from 0, of 65,536 bytes each, read as u32 words, all big-endian. A word that is not below the highest multiple of
 * the bound is skipped; of another the remainder counts.
 */
export function drawer(seed: number): (below: number) => number {
  const input = Buffer.alloc(LABEL.length + 16);
  input.write(LABEL, 'ascii');
  input.writeBigUInt64BE(BigInt(seed), LABEL.length);
  let number = 0;
  let block = Buffer.alloc(0);
  let at = 0;
  const word = (): number => {
    if (at === block.length) {
      input.writeBigUInt64BE(BigInt(number), LABEL.length + 8);
      block = createHash('shake128', { outputLength: BLOCK_BYTES }).update(input).digest();
      number += 1;
      at = 0;
    }
    at += 4;
    return block.readUInt32BE(at - 4);
  };
  return (below) => {
    const end = WORDS - (WORDS % below);
    let drawn = word();
    while (drawn >= end) drawn = word();
    return drawn % below;
  };
}

/** Puts the numbers from 0 in a drawn order: for k from the last place down to 1, changes k with one of 0 to k. */
export function shuffle(order: Uint32Array, draw: (below: number) => number): void {
  for (let at = 0; at < order.length; at += 1) order[at] = at;
  for (let k = order.length - 1; k > 0; k -= 1) {
    const other = draw(k + 1);
    const kept = order[k] ?? 0;
    order[k] = order[other] ?? 0;
    order[other] = kept;
  }
}
