// Tests of plugins/classify/engine/sums.ts.

import assert from 'node:assert/strict';
import { wordFeatures } from '../../../../plugins/classify/engine/features.ts';
import { hashWord } from '../../../../plugins/classify/engine/vocabulary.ts';
import { Sums, WIDTH } from '../../../../plugins/classify/engine/sums.ts';

const BITS = 10;
const WORDS = ['known', 'words'];
const weights = Int8Array.from({ length: WIDTH * 2 ** BITS }, (_hole, k) => ((k * 73) % 255) - 127);
const sums = new Sums(weights, BITS, WORDS, {
  kinds: new Int32Array(2),
  hashes: Int32Array.of(hashWord('one'), hashWord('other')),
  telling: [0],
  tellingTrade: [0, 1],
});

/** The same, feature by feature. */
function summed(hashes: readonly number[]) {
  const head = (at: number): number =>
    hashes.reduce((all, hash) => all + (weights[(hash >>> (32 - BITS)) * WIDTH + at] ?? 0), 0);
  return { violation: head(0), policy: head(1), crisis: head(2), count: hashes.length };
}

describe('sums of weights', () => {
  it('are the sums over all features', () => {
    const hashes = Array.from({ length: 5000 }, (_hole, k) => Math.imul(k + 1, 0x9e3779b1));
    for (const hash of hashes) sums.add(hash);
    assert.deepEqual(sums.take(), summed(hashes));
    assert.deepEqual(sums.take(), summed([]));
  });

  it('are the same for known and unknown words, in every state and context', () => {
    const hashes: number[] = [];
    for (let k = 0; k < 2400; k++) {
      const word = WORDS[k % 2] ?? '';
      const [state, company] = [k % 3, k % 8];
      wordFeatures(word, hashWord(word), state, company, { add: (hash) => hashes.push(hash) });
      sums.word(k % 5 === 0 ? -1 : k % 2, word, hashWord(word), state, company);
    }
    assert.deepEqual(sums.take(), summed(hashes));
  });
});
