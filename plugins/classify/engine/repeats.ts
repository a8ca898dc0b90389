// What a text says over and over is said once: models that sum features would grow ever surer of "ok ok ok".
import type { Tokens } from './tokens.ts';

/** A pair of neighbours counts this often in one block. */
const COUNTED = 2;
/** Fewer words repeat themselves by chance, and in more words any text does. */
const FEWEST = 6;
const BLOCK = 90;
/** Slots of the sieve, a byte each: no block is longer than a byte counts. */
const SLOTS = 256;
const sieve = new Uint8Array(SLOTS);

/**
 * The text without what it says a third time and more behind the same word, where that is half of a block of words: nobody writes
 * so. Undefined when nothing is to be left out.
 */
export function withoutRepeats(text: string, tokens: Tokens): string | undefined {
  const n = tokens.words.length;
  let kept: string | undefined;
  let copied = 0;
  let times = new Map<string, number>();
  for (let from = 0; from < n; from += BLOCK) {
    const to = Math.min(n, from + BLOCK);
    // A block behind a repetition may go on with it, however short.
    const asked = times.size > 0 || isSuspect(tokens.ids, from, to);
    const repeats = asked ? repeatsOf(tokens, from, to, times) : [];
    if (repeats.length === 0) times = new Map();
    for (const k of repeats) {
      const start = tokens.starts[k] ?? 0;
      // Words that were split off one word have the same place, and are dropped together with the last of them.
      if (start < copied || (k + 1 < n && tokens.starts[k + 1] === start)) continue;
      kept = (kept ?? '') + text.slice(copied, start);
      copied = k + 1 < n ? (tokens.starts[k + 1] ?? 0) : text.length;
    }
  }
  return kept === undefined ? undefined : kept + text.slice(copied);
}

/** False for nearly every block: by ids alone, in few slots, which can only find more. */
function isSuspect(ids: Int32Array, from: number, to: number): boolean {
  if (to - from < FEWEST) return false;
  sieve.fill(0);
  let before = 0;
  let repeats = 0;
  for (let k = from; k < to; k++) {
    const id = ids[k] ?? -1;
    const slot = (Math.imul(before, 0x85ebca6b) ^ Math.imul(id, 0x9e3779b1)) >>> 24;
    const seen = sieve[slot] ?? 0;
    sieve[slot] = seen + 1;
    if (seen >= COUNTED) repeats++;
    before = id;
  }
  return repeats * 2 >= to - from;
}

/** The tokens that only repeat, none when they are less than half; `times` counts pairs from block to block. */
function repeatsOf(
  { words }: Tokens,
  from: number,
  to: number,
  times: Map<string, number>,
): number[] {
  const repeats: number[] = [];
  for (let k = from; k < to; k++) {
    const pair = `${words[k - 1] ?? ''} ${words[k] ?? ''}`;
    const seen = times.get(pair) ?? 0;
    times.set(pair, seen + 1);
    if (seen >= COUNTED) repeats.push(k);
  }
  return repeats.length * 2 >= to - from ? repeats : [];
}
