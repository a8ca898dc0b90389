// Tests of entry bundles.

import assert from 'node:assert/strict';

import fc from 'fast-check';

import { encodeBundle, parseBundle } from '../../../log/merkle/tile.ts';
import { concat } from '../../../log/encoding/bytes.ts';

const refused = { name: 'LogError', code: 'encoding_invalid' };

describe('log/merkle/tile: bundles', () => {
  it('reads what it wrote, and refuses a bundle that ends within an entry', () => {
    const entries = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 256 });
    fc.assert(
      fc.property(entries, fc.nat(), (list, at) => {
        const bytes = encodeBundle(list);
        assert.deepEqual(parseBundle(bytes), list);
        const cut = at % (bytes.length + 1);
        const ends = list.map((_, i) => encodeBundle(list.slice(0, i)).length);
        if (cut === bytes.length || ends.includes(cut)) return;
        assert.throws(() => parseBundle(bytes.subarray(0, cut)), refused);
      }),
    );
  });

  it('contains 256 entries of up to 65,535 bytes', () => {
    const largest = new Uint8Array(65_535).fill(7);
    assert.deepEqual(parseBundle(encodeBundle([largest])), [largest]);
    assert.throws(() => encodeBundle([new Uint8Array(65_536)]), refused);
    const full = encodeBundle(Array.from({ length: 256 }, () => new Uint8Array(1)));
    assert.equal(parseBundle(full).length, 256);
    assert.throws(() => parseBundle(concat(full, new Uint8Array(2))), refused);
  });

  it('reads a bundle that is a view into a larger buffer', () => {
    const inner = encodeBundle([new Uint8Array([1, 2])]);
    assert.deepEqual(parseBundle(concat(new Uint8Array(3), inner).subarray(3)), [
      new Uint8Array([1, 2]),
    ]);
  });
});
