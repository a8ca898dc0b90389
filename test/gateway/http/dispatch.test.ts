// Finding routes by path: exact paths, parameters, the rest of a path, aliases, and duplicate declarations.

import assert from 'node:assert/strict';
import Type from 'typebox';
import { Dispatch } from '../../../gateway/http/dispatch.ts';
import { route } from '../../../plugins/contract/index.ts';
import type { Route } from '../../../plugins/contract/index.ts';

const at = (path: string, more: Partial<Route> = {}): Route =>
  route({
    method: 'GET',
    path,
    tag: 't',
    summary: 's',
    access: 'read',
    responses: { 200: { description: 'ok', type: 'text/plain' } },
    handle: () => undefined,
    ...more,
  });

const found = (dispatch: Dispatch, path: string) => {
  const match = dispatch.match(path);
  return match === null
    ? null
    : { path: match.routes.get('GET')?.canonical, params: { ...match.params } };
};

describe('dispatch', () => {
  it('finds exact paths before patterns, whatever their order', () => {
    const dispatch = new Dispatch([at('/a/{x}'), at('/a/b')]);
    assert.deepEqual(found(dispatch, '/a/b'), { path: '/a/b', params: {} });
    assert.deepEqual(found(dispatch, '/a/c'), { path: '/a/{x}', params: { x: 'c' } });
  });

  it('matches suffixes, decodes parameters and keeps the rest of a path in one piece', () => {
    const dispatch = new Dispatch([at('/e/{id}.json'), at('/t/{kind}/{rest*}')]);
    assert.deepEqual(found(dispatch, '/e/1-2.json'), {
      path: '/e/{id}.json',
      params: { id: '1-2' },
    });
    assert.deepEqual(found(dispatch, '/e/a%20b.json')?.params, { id: 'a b' });
    assert.deepEqual(found(dispatch, '/t/live/x001/234.p/5')?.params, {
      kind: 'live',
      rest: 'x001/234.p/5',
    });
  });

  it('is exact about case and slashes', () => {
    const dispatch = new Dispatch([at('/a'), at('/b/{x}')]);
    for (const path of ['/A', '/a/', '/b', '/b/', '/b/x/', '/B/x', '//a', ''])
      assert.equal(found(dispatch, path), null, path);
  });

  it('finds the route of an alias', () => {
    const match = new Dispatch([at('/a', { aliases: ['/v1/a'] })]).match('/v1/a');
    const get = match?.routes.get('GET');
    assert.deepEqual([get?.canonical, get?.alias], ['/a', true]);
  });

  it('refuses a method and path that are declared twice, also as an alias or under other names', () => {
    assert.throws(() => new Dispatch([at('/a'), at('/a')]), /GET \/a is declared twice/);
    assert.throws(() => new Dispatch([at('/a'), at('/b', { aliases: ['/a'] })]), /declared twice/);
    assert.throws(
      () => new Dispatch([at('/a/{x}'), at('/a/{y}', { method: 'POST' })]),
      /\/a\/\{y\} is declared as \/a\/\{x\} already/,
    );
    assert.doesNotThrow(
      () => new Dispatch([at('/a'), at('/a', { method: 'POST', access: 'key' })]),
    );
  });

  it('counts POSTs as writes and GETs as reads unless a route says otherwise', () => {
    const dispatch = new Dispatch([
      at('/r'),
      at('/l', { budget: 'log' }),
      at('/w', { method: 'POST', body: Type.Object({}) }),
    ]);
    assert.equal(dispatch.match('/r')?.routes.get('GET')?.budget, 'read');
    assert.equal(dispatch.match('/l')?.routes.get('GET')?.budget, 'log');
    assert.equal(dispatch.match('/w')?.routes.get('POST')?.budget, 'write');
  });
});
