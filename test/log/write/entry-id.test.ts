// Entry ids: UUIDv7 that increase with time and counter; both can be read from an id.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { entryId, nextSeq, seqOf } from '../../../log/write/clock.ts';

const time = fc.integer({ min: 0, max: 2 ** 48 - 1 });
const counter = fc.integer({ min: 0, max: 2 ** 31 - 1 });

describe('entry ids', () => {
  it('contain the time and the counter', () => {
    fc.assert(
      fc.property(time, counter, (ms, seq) => {
        const id = entryId(ms, seq);
        assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        assert.equal(parseInt(id.replaceAll('-', '').slice(0, 12), 16), ms);
        assert.equal(seqOf(id), seq);
      }),
    );
  });

  it('increase with the counter within a millisecond, for any random bits', () => {
    fc.assert(
      fc.property(time, fc.integer({ min: 0, max: 2 ** 31 - 2 }), (ms, seq) => {
        assert.ok(entryId(ms, seq) < entryId(ms, nextSeq(ms, ms, seq)));
      }),
    );
  });

  it('start a new millisecond at a random counter, with room to increase', () => {
    const seq = nextSeq(2, 1, 5);
    assert.ok(seq >= 0 && seq < 2 ** 30);
  });
});
