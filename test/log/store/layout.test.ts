// Keys of the database: their byte order is the order of the rows.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  chainRowKey,
  entryKey,
  headKey,
  indexValue,
  leafKey,
  metaKey,
  noteKey,
  readChainRowKey,
  readIndex,
  readRowKey,
  readTileKey,
  rowKey,
  tileKey,
} from '../../../log/store/layout.ts';

const index = fc.oneof(fc.nat(), fc.maxSafeNat());
const sign = (n: number): number => Math.sign(n);

describe('layout', () => {
  it('sorts entries, notes and tiles by number', () => {
    fc.assert(
      fc.property(index, index, (a, b) => {
        for (const of of [entryKey, noteKey, (n: number) => tileKey(3, n)]) {
          assert.equal(sign(Buffer.compare(of(a), of(b))), sign(a - b));
          assert.equal(readIndex(of(a)), a);
        }
        assert.equal(readIndex(indexValue(a)), a);
        assert.deepEqual(readTileKey(tileKey(5, a)), { level: 5, n: a });
      }),
    );
  });

  it('sorts a chain by time, then index, and separates chains', () => {
    const skey = fc.uint8Array({ minLength: 32, maxLength: 32 });
    fc.assert(
      fc.property(skey, skey, index, index, index, index, (a, b, ms, other_ms, i, j) => {
        const order = sign(ms - other_ms) || sign(i - j);
        assert.equal(
          sign(Buffer.compare(chainRowKey(a, ms, i), chainRowKey(a, other_ms, j))),
          order,
        );
        assert.deepEqual(readChainRowKey(chainRowKey(a, ms, i)), { ms, index: i });
        const apart = sign(Buffer.compare(a, b));
        if (apart !== 0) {
          assert.equal(
            sign(Buffer.compare(chainRowKey(a, ms, i), chainRowKey(b, other_ms, j))),
            apart,
          );
        }
      }),
    );
  });

  it('gives every kind of row its own prefix', () => {
    const bytes = new Uint8Array(32);
    const keys = [
      entryKey(0),
      noteKey(0),
      tileKey(0, 0),
      headKey(bytes),
      chainRowKey(bytes, 0, 0),
      leafKey(bytes),
      metaKey('state'),
    ];
    assert.equal(new Set(keys.map((key) => key[0])).size, keys.length);
  });

  it('parses row keys', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed()),
        (text) => {
          assert.equal(readRowKey(rowKey(0x72, text)), text);
        },
      ),
    );
  });
});
