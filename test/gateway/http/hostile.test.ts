// Every declared route with hostile members, queries, paths, methods, bodies and keys. The answer is always the
// envelope with a code that the operation declares; it shows no cause and no text of another tenant, and no entry has
// free text. gateway/API.md §1.2, §4.

import assert from 'node:assert/strict';
import type { Route } from '../../../plugins/contract/index.ts';
import { run } from '../running.ts';
import type { Running } from '../running.ts';
import { bodiesOf, pathsWith, SECRET, WORDS } from './hostile-values.ts';
import { Range } from './range.ts';
import type { Shot } from './range.ts';

describe('every declared route', function () {
  this.timeout(240_000);
  let running: Running;
  let stranger: string;
  let range: Range;

  const json = (key?: string): Record<string, string> => ({
    'Content-Type': 'application/json',
    ...(key === undefined ? {} : { 'X-API-Key': key }),
  });

  before(async () => {
    running = await run();
    range = new Range(running);
    stranger = (await running.gateway.tenants.issue({ tenant: 'stranger', kind: 'live' })).key;
    // Creates data of another tenant that a leak would show.
    for (const route of running.gateway.routes().filter(({ method }) => method === 'POST')) {
      const body = JSON.stringify({
        ...(route.example as object | undefined),
        ...{ message: SECRET, context: SECRET, session_id: SECRET },
      });
      await range.shoot({ method: 'POST', path: route.path, body, headers: json(running.live) });
    }
  });

  after(async () => {
    range.close();
    await running.close();
  });

  const writes = (): readonly Route[] =>
    running.gateway.routes().filter(({ method, path }) => method === 'POST' && !path.includes('{'));

  it('withstands hostile members, with a key', async () => {
    for (const route of writes()) {
      const shots = [...bodiesOf(route)].map((body) => {
        return { method: 'POST', path: route.path, body, headers: json(stranger) };
      });
      await range.volley(shots);
    }
  });

  it('withstands hostile members, without a key and in the sandbox', async () => {
    for (const route of writes()) {
      const shots = [...bodiesOf(route)].flatMap((body, i) => {
        const headers = json(i % 2 === 0 ? undefined : running.sandbox);
        return i % 3 === 0 ? [{ method: 'POST', path: route.path, body, headers }] : [];
      });
      await range.volley(shots);
    }
  });

  it('withstands hostile paths and queries', async () => {
    const shots = running.gateway.routes().flatMap((route) =>
      [...pathsWith(route)].map((path) => {
        const { method } = route;
        const write = method !== 'GET';
        return { method, path, headers: json(stranger), ...(write ? { body: '{}' } : {}) };
      }),
    );
    await range.volley(shots);
  });

  it('withstands other methods, other content types and unexpected bodies', async () => {
    const shots = running.gateway
      .routes()
      .flatMap(({ path: declared, method, example }): Shot[] => {
        const path = declared.replace(/\{\w+\*?\}/g, 'live');
        const body = JSON.stringify(example ?? {});
        const others = ['HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND'];
        const types = [
          'text/plain',
          'application/x-www-form-urlencoded',
          'multipart/form-data',
          ';',
          'a/b;c',
        ];
        return [
          ...others.map((other) => ({ method: other, path, headers: json(stranger) })),
          ...types.map((type) => {
            return { method, path, body, headers: { ...json(stranger), 'Content-Type': type } };
          }),
          { method: 'GET', path, body: body.repeat(50), headers: json(stranger) },
          { method, path, body, headers: { ...json(stranger), 'Content-Encoding': 'gzip' } },
          ...['', 'short', 'a'.repeat(256), '"unclosed', 'sp ace key'].map((key) => {
            return { method, path, body, headers: { ...json(stranger), 'Idempotency-Key': key } };
          }),
          ...['wait', 'wait=-1', 'wait=1e9', 'wait="', ',;=,', 'wait=0;wait=0'].map((prefer) => {
            return { method, path, body, headers: { ...json(stranger), Prefer: prefer } };
          }),
        ];
      });
    await range.volley(shots);
  });

  it('refuses an invalid key in every header', async () => {
    const almost = `${stranger.slice(0, -1)}${stranger.endsWith('a') ? 'b' : 'a'}`;
    const bad = [
      '',
      'x',
      '__proto__',
      almost,
      `${stranger} `.repeat(2),
      'é',
      stranger.toUpperCase(),
    ];
    const shots = running.gateway.routes().flatMap(({ path: declared, method }) => {
      const path = declared.replace(/\{\w+\*?\}/g, 'live');
      return [
        ...bad.map((key) => ({ 'X-API-Key': key })),
        ...bad.map((key) => ({ Authorization: `Bearer ${key}` })),
        ...['Basic eDp5', 'Bearer', stranger].map((value) => ({ Authorization: value })),
        { 'X-API-Key': stranger, Authorization: `Bearer ${running.live}` },
      ].map((headers) => ({ method, path, headers }));
    });
    for (const { status, text } of await range.volley(shots)) assert.equal(status, 401, text);
  });

  it('shows no text of another tenant', async () => {
    for (const kind of ['live', 'sandbox'] as const) {
      const log = running.gateway.logs[kind];
      for (let index = 0; index < Math.min(log.size(), 60); index += 1) {
        const { entry_id } = JSON.parse(log.entry(index) ?? '{}') as { entry_id: string };
        await range.volley(
          [undefined, stranger, running.sandbox].flatMap((key) =>
            [`/receipt/lookup?entry_id=${entry_id}`, `/r/${entry_id}?log=${kind}`].map((path) => {
              return { method: 'GET', path, headers: json(key) };
            }),
          ),
        );
      }
    }
  });

  it('has written no text of a caller into a log', () => {
    for (const log of Object.values(running.gateway.logs)) {
      assert.ok(log.size() > 10);
      for (let index = 0; index < log.size(); index += 1) {
        const text = log.entry(index) ?? '';
        for (const words of [WORDS, SECRET, '<script>', '\u202e', '\\u0000']) {
          assert.ok(!text.includes(words), text);
        }
      }
    }
  });
});
