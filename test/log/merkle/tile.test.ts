// Tests of log/merkle/tile.ts.

import assert from 'node:assert/strict';

import fc from 'fast-check';

import { parseTilePath, tilePath, tileWidth } from '../../../log/merkle/tile.ts';

describe('log/merkle/tile', () => {
  it('writes paths as C2SP tlog-tiles does', () => {
    assert.equal(tilePath(0, 0), 'tile/0/000');
    assert.equal(tilePath(0, 1234067, 5), 'tile/0/x001/x234/067.p/5');
    assert.equal(tilePath(5, 999, 256), 'tile/5/999');
    assert.equal(tilePath('entries', 1000, 255), 'tile/entries/x001/000.p/255');
    assert.equal(tilePath(63, Number.MAX_SAFE_INTEGER), 'tile/63/x009/x007/x199/x254/x740/991');
  });

  it('reads exactly the paths that it writes', () => {
    const level = fc.oneof(fc.nat({ max: 63 }), fc.constant('entries' as const));
    fc.assert(
      fc.property(level, fc.maxSafeNat(), fc.integer({ min: 1, max: 256 }), (l, n, width) => {
        assert.deepEqual(parseTilePath(tilePath(l, n, width)), { level: l, n, width });
      }),
    );
    const noise = fc.array(
      fc.constantFrom('tile', '/', '0', '1', '00', 'x', '000', '.p/', '256', 'entries'),
    );
    fc.assert(
      fc.property(noise, (parts) => {
        const path = `tile/${parts.join('')}`;
        const name = parseTilePath(path);
        if (name !== null) assert.equal(tilePath(name.level, name.n, name.width), path);
      }),
      { numRuns: 2000 },
    );
  });

  it('refuses every other path', () => {
    for (const path of [
      '',
      'tile/0/0',
      'tile/0/0000',
      'tile/00/000',
      'tile/64/000',
      'tile/-1/000',
      'tile/0/x000/000',
      'tile/0/x001/x000',
      'tile/0/001/000',
      'tile/0/x01/000',
      'tile/0/000.p/0',
      'tile/0/000.p/01',
      'tile/0/000.p/256',
      'tile/0/000.p/',
      'tile/0/000.p',
      'tile/0/000/',
      '/tile/0/000',
      'tile/0/000\n',
      'tile/0/\u0660\u0660\u0660',
      'tile/data/000',
      'tile/0/x009/x007/x199/x254/x740/992',
      'tile/0/x001/x000/x000/x000/x000/x000/000',
    ]) {
      assert.equal(parseTilePath(path), null, path);
    }
  });

  it('computes the width of a tile in a tree of a given size', () => {
    assert.equal(tileWidth(0, 0, 0), 0);
    assert.equal(tileWidth(255, 0, 0), 255);
    assert.equal(tileWidth(256, 0, 0), 256);
    assert.equal(tileWidth(256, 0, 1), 0);
    assert.equal(tileWidth(256, 1, 0), 1);
    assert.equal(tileWidth(70_000, 1, 1), 17);
    assert.equal(tileWidth(65_536, 2, 0), 1);
    assert.equal(tileWidth(Number.MAX_SAFE_INTEGER, 6, 0), 31);
    assert.equal(tileWidth(Number.MAX_SAFE_INTEGER, 7, 0), 0);
    assert.equal(tileWidth(Number.MAX_SAFE_INTEGER, 63, Number.MAX_SAFE_INTEGER), 0);
    assert.equal(
      tileWidth(Number.MAX_SAFE_INTEGER, 0, Math.floor(Number.MAX_SAFE_INTEGER / 256)),
      255,
    );
  });
});
