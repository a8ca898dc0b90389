// Tests of plugins/contract/catalog.ts.

import assert from 'node:assert/strict';
import { servedCatalog } from '../../plugins/contract/index.ts';
import type { Json } from '../../plugins/contract/index.ts';

function host(files: Readonly<Record<string, Json>>) {
  return {
    catalog(path: string): Json {
      const file = files[path];
      if (file === undefined) throw new Error(`no ${path}`);
      return file;
    },
    url: (path: string) => `https://log.example${path}`,
  };
}

describe('plugins/served-catalog', () => {
  it('adds the address of the catalog, and of each api', () => {
    const a = { schema: 'a-v1', apis: { list: { method: 'GET', path: '/list' } } };
    assert.deepEqual(servedCatalog(host({ 'a.json': a }), 'a.json', '/a'), {
      schema: 'a-v1',
      apis: { list: { method: 'GET', path: '/list', url: 'https://log.example/list' } },
      url: 'https://log.example/a',
    });
  });

  it('replaces {base_url} at the beginning of a text, at any depth, and nowhere else', () => {
    const links = ['{base_url}/go/{partner}/x', 'see {base_url}'];
    const a = { apis: {}, deep: [{ links }], none: null, count: 2 };
    const served = servedCatalog(host({ 'a.json': a }), 'a.json', '/a');
    assert.deepEqual(served['deep'], [
      { links: ['https://log.example/go/{partner}/x', 'see {base_url}'] },
    ]);
    assert.deepEqual([served['none'], served['count']], [null, 2]);
  });

  it('includes the contents of another file, and changes neither file', () => {
    const a = { apis: {}, tolls: { $ref: 'b.json#/tolls' }, whole: { $ref: 'c.json' } };
    const files = { 'a.json': a, 'b.json': { tolls: { seal: 0.05 } }, 'c.json': ['{base_url}/c'] };
    const before = structuredClone(files);
    const served = servedCatalog(host(files), 'a.json', '/a');
    assert.deepEqual(served['tolls'], { seal: 0.05 });
    assert.deepEqual(served['whole'], ['https://log.example/c']);
    assert.deepEqual(files, before);
  });

  it('refuses a reference to nothing, and a circular one', () => {
    const nothing = { apis: {}, x: { $ref: 'a.json#/y' } };
    const round = { apis: {}, x: { $ref: 'a.json#/x' } };
    for (const a of [nothing, round])
      assert.throws(
        () => servedCatalog(host({ 'a.json': a }), 'a.json', '/a'),
        /catalogs\/ has no/,
      );
  });
});
