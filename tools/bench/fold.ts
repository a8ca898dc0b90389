// How long folding the map holds up the event loop: the thread does the work, but what goes to it and comes
// back crosses the loop. The loop is turned as fast as it goes, and its longest turn counts.

import { randomFillSync } from 'node:crypto';
import { openFold } from '../../log/operate.ts';
import { median, stealMeter } from './figure.ts';
import type { Bench } from './figure.ts';

const DIRTY = 1000;
const UPDATE_BYTES = 64;

/** Longest block of the event loop while 1,000 dirty keys are folded into a map of 1,000,000. */
export const fold: Bench = {
  name: 'fold',
  run: async ({ quick }) => {
    const keys = quick ? 100_000 : 1_000_000;
    const host = openFold({ threads: true });
    const trie = host.trie('bench');
    try {
      const known = randomFillSync(new Uint8Array(keys * UPDATE_BYTES));
      for (let at = 0; at < known.length; at += 8192 * UPDATE_BYTES) {
        trie.apply(known.slice(at, at + 8192 * UPDATE_BYTES));
      }
      let { version } = await trie.cut();
      const folding: number[] = [];
      const idle: number[] = [];
      const took: number[] = [];
      const steal = stealMeter();
      for (let turn = 0; turn < (quick ? 5 : 25); turn += 1) {
        idle.push((await longestTurn(() => pause(20))).longest);
        const dirty = dirtyOf(known, turn);
        const folded = await longestTurn(async () => {
          trie.apply(dirty);
          const cut = await trie.cut();
          trie.release(version);
          ({ version } = cut);
        });
        folding.push(folded.longest);
        took.push(folded.whole);
      }
      return [
        {
          name: 'fold.block',
          what: `longest block of the event loop while ${String(DIRTY)} dirty keys are folded into ${String(keys)}`,
          unit: 'ms',
          better: 'lower',
          at_least: 20,
          aim: 5,
          value: median(folding),
          parts: {
            worst_of_all_ms: Math.max(...folding),
            idle_loop_ms: median(idle),
            fold_ms: median(took),
          },
          steal: steal(),
        },
      ];
    } finally {
      await host.close();
    }
  },
};

/** Half of the keys are known, half are new; all values are. */
function dirtyOf(known: Uint8Array, turn: number): Uint8Array {
  const dirty = randomFillSync(new Uint8Array(DIRTY * UPDATE_BYTES));
  const keys = known.length / UPDATE_BYTES;
  for (let i = 0; i < DIRTY / 2; i += 1) {
    const at = ((turn * DIRTY + i * 7919) % keys) * UPDATE_BYTES;
    dirty.set(known.subarray(at, at + 32), i * UPDATE_BYTES);
  }
  return dirty;
}

/** Milliseconds of the longest turn of the event loop during the work, and of the work. */
async function longestTurn(work: () => Promise<void>): Promise<{ longest: number; whole: number }> {
  let longest = 0;
  let going = true;
  const start = performance.now();
  let last = start;
  const turned = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (going) setImmediate(turned);
  };
  setImmediate(turned);
  await work();
  going = false;
  turned();
  return { longest, whole: performance.now() - start };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
