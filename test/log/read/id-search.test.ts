// The search for an entry by its id, compared with a list, at every size and over a damaged disk.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { entryId } from '../../../log/write/clock.ts';
import { LogError } from '../../../log/index.ts';
import { IdSearch } from '../../../log/read/reader.ts';

/** Ids of a log whose time stays the same, advances and jumps. */
const idsOf = (steps: readonly number[]): string[] => {
  let ms = 1_750_000_000_000;
  let seq = 0;
  return steps.map((step) => {
    ms += step;
    seq = step === 0 ? seq + 1 : 7;
    return entryId(ms, seq);
  });
};
const steps = fc.array(fc.constantFrom(0, 0, 0, 1, 2, 1000, 86_400_000), { maxLength: 600 });

/** A search over a list; it counts the reads. */
function searching(ids: readonly string[], stored: readonly string[] = ids) {
  const reads = { stored: 0, compared: 0 };
  const read = (name: keyof typeof reads, list: readonly string[]) => (index: number) => {
    reads[name] += 1;
    const id = list[index];
    if (id === undefined) throw new LogError('store_corrupt', 'there is no such entry');
    return id;
  };
  const search = new IdSearch(read('stored', stored), read('compared', ids));
  return { search, reads };
}

describe('search of ids', () => {
  it('finds each id at its index, and no other id, as the log grows', () => {
    fc.assert(
      fc.property(steps, fc.infiniteStream(fc.nat()), (list, random) => {
        const ids = idsOf(list);
        const { search } = searching(ids);
        for (const size of [0, Math.min(1, ids.length), ids.length >> 1, ids.length]) {
          for (const [index, id] of ids.entries()) {
            assert.equal(search.find(id, size), index < size ? index : null);
          }
          const { value } = random.next();
          const beside = entryId(1_750_000_000_000 + (value % 3000), value % 9);
          if (!ids.includes(beside)) assert.equal(search.find(beside, size), null);
        }
        assert.equal(search.find(entryId(1, 0), ids.length), null);
        assert.equal(search.find(entryId(2 ** 47, 0), ids.length), null);
      }),
      { numRuns: 40 },
    );
  });

  it('compares the id that it found, and reads only the path to it', () => {
    const ids = idsOf(Array.from({ length: 10_000 }, () => 1));
    const { search, reads } = searching(ids);
    assert.equal(search.find(ids[7777]!, ids.length), 7777);
    assert.deepEqual([reads.compared, reads.stored <= 14], [1, true]);
    const before = reads.stored;
    assert.equal(search.find(ids[7778]!, ids.length), 7778);
    // Neighbours share the path except its end, and a larger log has the same positions.
    assert.ok(reads.stored - before <= 2);
    assert.equal(search.find(ids[7777]!, 9000), 7777);
    assert.ok(reads.stored - before <= 2);
  });

  it('never reports an entry as unknown because another one is damaged', () => {
    const ids = idsOf(Array.from({ length: 300 }, () => 1));
    fc.assert(
      fc.property(fc.nat({ max: 299 }), fc.nat({ max: 299 }), (lost, asked) => {
        const lies = ids.with(lost, entryId(lost % 2 === 0 ? 1 : 2 ** 47, 0));
        const { search } = searching(ids, lies);
        try {
          assert.equal(search.find(ids[asked]!, ids.length), asked);
        } catch (error) {
          assert.equal((error as LogError).code, 'store_corrupt');
        }
      }),
    );
  });
});
