// The entries in memory, compared with a list, at every turn of the ring, and within their limits.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { RecentEntries } from '../../../log/write/core.ts';
import type { Written } from '../../../log/write/core.ts';

const MOST_ENTRIES = 8192;
const idOf = (index: number): string => String(index * 2).padStart(12, '0');
const entry = (index: number, bytes = 1): Written => ({
  ...{ index, entry_id: idOf(index), bytes: Buffer.alloc(bytes, index) },
});

function filled(from: number, to: number): RecentEntries {
  const recent = new RecentEntries();
  for (let index = from; index < to; index += 1) recent.add(entry(index));
  return recent;
}

describe('recent entries', () => {
  it('contain the last ones by index and by id, and report nothing about older ones', () => {
    const size = fc.integer({ min: 0, max: 3 * MOST_ENTRIES });
    fc.assert(
      fc.property(fc.nat({ max: 10_000 }), size, fc.nat(), (from, count, asked) => {
        const recent = filled(from, from + count);
        const first = from + Math.max(0, count - MOST_ENTRIES);
        const index = from + (asked % (count + 2)) - 1;
        const has = index >= first && index < from + count;
        assert.deepEqual(recent.at(index), has ? entry(index).bytes : undefined);
        if (has) assert.equal(recent.indexOf(idOf(index)), index);
        else if (index < first || count === 0) assert.equal(recent.indexOf(idOf(index)), undefined);
        else assert.equal(recent.indexOf(idOf(index)), null);
      }),
      { numRuns: 60 },
    );
  });

  it('report that no entry has an id between theirs', () => {
    const recent = filled(7, 207);
    assert.equal(recent.indexOf(`${idOf(50)}1`), null);
    assert.equal(recent.indexOf(`${idOf(206)}1`), null);
    assert.equal(recent.indexOf('0'), undefined);
  });

  it('start again after a gap', () => {
    const recent = filled(0, 100);
    recent.add(entry(150));
    assert.equal(recent.at(99), undefined);
    assert.equal(recent.indexOf(idOf(99)), undefined);
    assert.deepEqual(recent.at(150), entry(150).bytes);
    recent.add(entry(151));
    assert.equal(recent.indexOf(idOf(151)), 151);
  });

  it('take at most 8 MiB', () => {
    const recent = new RecentEntries();
    for (let index = 0; index < 300; index += 1) recent.add(entry(index, 65_535));
    const held = Array.from({ length: 300 }, (_, index) => recent.at(index)).filter(Boolean).length;
    assert.equal(held, Math.floor((8 * 1024 * 1024) / 65_535));
    assert.notEqual(recent.at(299), undefined);
  });
});
