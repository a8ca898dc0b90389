// Random text of base62 characters: request ids and API keys.

import { randomFillSync } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const POOL = Buffer.alloc(8192);
let used = POOL.length;

/** Returns `length` independent, uniformly distributed characters (5.95 bits each) from the system's generator. */
export function base62(length: number): string {
  let text = '';
  while (text.length < length) {
    if (used === POOL.length) {
      randomFillSync(POOL);
      used = 0;
    }
    // Values 62 and 63 are skipped, so that every character is equally likely.
    const character = ALPHABET[(POOL[used] ?? 0) & 63];
    POOL[used] = 0;
    used += 1;
    if (character !== undefined) text += character;
  }
  return text;
}
