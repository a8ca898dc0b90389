// Random names: their alphabet, and that all characters are equally likely.

import assert from 'node:assert/strict';
import { base62 } from '../../../gateway/tenants/base62.ts';

describe('base62', () => {
  it('has exactly the requested length', () => {
    for (const length of [0, 1, 24, 32, 9000]) assert.equal(base62(length).length, length);
  });

  it('uses all 62 characters about equally', () => {
    const counts = new Map<string, number>();
    for (const character of base62(62_000)) counts.set(character, (counts.get(character) ?? 0) + 1);
    assert.equal(counts.size, 62);
    // Seven standard deviations around 1,000: a uniform source exceeds this once in 10^10 runs.
    for (const [character, count] of counts) assert.ok(Math.abs(count - 1000) < 222, character);
  });

  it('does not repeat itself', () => {
    const names = new Set(Array.from({ length: 10_000 }, () => base62(24)));
    assert.equal(names.size, 10_000);
  });
});
