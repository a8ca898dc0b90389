// Every declared route against hostile members, queries, paths, methods, bodies and keys: always the
// envelope with a code that the operation declares, never a cause, never another tenant's words, and no free
// text in any entry. behaviour.md §1.2, §4.

import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { decode } from 'cborg';
import { Dispatch } from '../../gateway/dispatch.ts';
import { codesOf } from '../../gateway/openapi-errors.ts';
import { PROBLEMS } from '../../gateway/problems.ts';
import type { ApiErrorCode, Json, Route } from '../../plugins/contract.ts';
import { run } from './running.ts';
import type { Running } from './running.ts';

/** Words that only tenant `first` may see, and words that a caller gives wherever a text fits. */
const SECRET = 'Only The First Tenant Knows';
const WORDS = 'Words Of A Caller In Clear';

/** JSON values in the place of any member, as they go over the wire. */
const VALUES: readonly string[] = [
  'null',
  'true',
  '0',
  '-0',
  '-1',
  '1.5',
  '1e308',
  '1e-400',
  '1e400',
  '9007199254740991',
  '9007199254740992',
  '9007199254740993.0',
  '9'.repeat(400),
  'NaN',
  '-Infinity',
  '""',
  '" "',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\u0000"',
  '"\u202e\u2066abc"',
  '"\u{1f600}\u{10ffff}"',
  `"${'a'.repeat(5000)}"`,
  `"${'\u{1f600}'.repeat(300)}"`,
  '"__proto__"',
  '"constructor"',
  '"toString"',
  '"../../../etc/passwd"',
  '"<script>alert(1)</script>"',
  '"%00%ff"',
  `"${WORDS}"`,
  `["${WORDS}"]`,
  `{"${WORDS}":"${WORDS}"}`,
  '[]',
  '[null]',
  '{}',
  '{"a":1,"a":2}',
  '{"__proto__":{"a":1}}',
  '{"constructor":{"prototype":{"a":1}},"hasOwnProperty":1,"toJSON":1}',
  `${'['.repeat(12)}${']'.repeat(12)}`,
  `${'['.repeat(40)}${']'.repeat(40)}`,
  `[${'0,'.repeat(2000)}0]`,
  `{"length":1e9}`,
];

/** Whole bodies. */
const BODIES: readonly string[] = [
  '',
  ' ',
  'null',
  '[]',
  '"x"',
  '1',
  '{',
  '{}{}',
  '{"a":1,"a":1}',
  '{"__proto__":null}',
  '\ufeff{}',
  "{'a':1}",
  '{"a":1,}',
  '['.repeat(5000),
];

/** Texts in a path or a query. */
const TEXTS: readonly string[] = [
  '',
  ' ',
  '.',
  '..',
  '../../etc/passwd',
  '/',
  '__proto__',
  'constructor',
  '\0',
  '\u202eabc',
  '\u{1f600}',
  "' OR 1=1 --",
  '<script>',
  '-1',
  '1.5',
  '1e3',
  'NaN',
  '9007199254740993',
  '9'.repeat(400),
  'a'.repeat(2000),
  '[]',
  '["surface"]',
  '["surface","a","b","c"]',
  `["${'a'.repeat(3000)}"]`,
  '{"__proto__":1}',
  '0'.repeat(64),
  '00000000-0000-0000-0000-000000000000',
];

/** What is sent as it is, not encoded. */
const RAW_TEXTS: readonly string[] = [
  '%',
  '%zz',
  '%ff',
  '%ed%a0%80',
  '%2f',
  '%2e%2e%2f',
  '%00',
  '+',
];

interface Shot {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Hit {
  readonly status: number;
  readonly id: string;
  readonly type: string;
  readonly bytes: Buffer;
  readonly text: string;
}

/** The bodies that differ from one that works in one place, and so in every place. */
function* bodiesOf(route: Route): Generator<string> {
  const example = (route.example ?? {}) as Record<string, Json>;
  const declared = (route.body as { properties?: object } | undefined)?.properties ?? {};
  const places = [
    ...new Set([...pathsOf(example), ...Object.keys(declared).map((name) => [name])]),
  ];
  for (const place of places) {
    const whole = JSON.stringify(set(structuredClone(example), place, '@@'));
    for (const value of VALUES) yield whole.replace('"@@"', () => value);
  }
  for (const name of Object.keys(example)) {
    yield JSON.stringify({ ...example, [name]: undefined });
  }
  yield JSON.stringify({ ...example, unknown: WORDS, [WORDS]: { deep: WORDS } });
  yield* BODIES;
}

function* pathsOf(value: Json, place: readonly string[] = []): Generator<readonly string[]> {
  if (place.length > 0) yield place;
  if (typeof value !== 'object' || value === null || place.length > 3) return;
  for (const [name, member] of Object.entries(value)) yield* pathsOf(member, [...place, name]);
}

function set(target: unknown, place: readonly string[], value: string): unknown {
  const [name = '', ...rest] = place;
  const holder = target as Record<string, unknown>;
  holder[name] = rest.length === 0 ? value : set(holder[name], rest, value);
  return holder;
}

/** Paths with hostile parameters and queries. */
function* pathsWith(route: Route): Generator<string> {
  const plain = route.path.replace(/\{\w+\*?\}/g, 'live');
  const names = [...route.path.matchAll(/\{\w+\*?\}/g)].map(([name]) => name);
  const texts = [...TEXTS.map(encodeURIComponent), ...RAW_TEXTS];
  for (const name of names) {
    for (const text of texts) {
      yield route.path.replace(name, text).replace(/\{\w+\*?\}/g, 'live');
    }
  }
  const query = Object.keys((route.query as { properties?: object } | undefined)?.properties ?? {});
  for (const name of [...query, '__proto__']) {
    const others = query.filter((other) => other !== name).map((other) => `${other}=1`);
    for (const text of texts) {
      yield `${plain}?${name}=${text}`;
      yield `${plain}?${[...others, `${name}=${text}`].join('&')}`;
    }
    yield `${plain}?${name}=1&${name}=2`;
    yield `${plain}?${name}[]=1&${name}[a]=2`;
  }
}

describe('every declared route', function () {
  this.timeout(240_000);
  let running: Running;
  let stranger: string;
  let dispatch: Dispatch;
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });

  const shoot = ({ method, path, body, headers }: Shot): Promise<Hit> =>
    new Promise((resolve, reject) => {
      const sent = request(
        { agent, method, path, port: running.port, host: '127.0.0.1', headers },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          answer.on('error', reject);
          answer.on('end', () => {
            resolve({
              status: answer.statusCode ?? 0,
              id: String(answer.headers['x-request-id']),
              type: answer.headers['content-type'] ?? '',
              bytes: Buffer.concat(chunks),
              text: Buffer.concat(chunks).toString(),
            });
          });
        },
      );
      sent.on('error', reject);
      // Node announces no body on a GET by itself, and writes it all the same.
      if (body !== undefined) sent.setHeader('Content-Length', Buffer.byteLength(body));
      sent.end(body);
    });

  /** Sends a shot and holds its answer to the rule. */
  const aim = async (shot: Shot): Promise<Hit> => {
    const hit = await shoot(shot);
    const what = `${shot.method} ${shot.path} ${(shot.body ?? '').slice(0, 300)} -> ${String(hit.status)} ${hit.text.slice(0, 300)}`;
    assert.match(hit.id, /^req_[0-9A-Za-z]{24}$/, what);
    assert.ok(!hit.text.includes(SECRET), what);
    assert.doesNotMatch(hit.text, /\n +at |node:internal|node_modules|\.[jt]s:\d+/, what);
    const [path = ''] = shot.path.split('?');
    const route = dispatch.match(path)?.routes.get(shot.method)?.route;
    if (hit.status < 400) {
      assert.ok(route === undefined || hit.status in route.responses, `undeclared: ${what}`);
      return hit;
    }
    assert.ok(hit.status < 500 || hit.status === 503, what);
    if (shot.method === 'HEAD') return hit;
    if (hit.type.startsWith('application/concise-problem-details+cbor')) {
      const problem = decode(hit.bytes, { useMaps: true }) as Map<unknown, unknown>;
      assert.ok(String(problem.get(-1)).length > 0 && String(problem.get(-2)).length > 0, what);
      assert.equal(PROBLEMS[problem.get('code') as ApiErrorCode].status, hit.status, what);
      assert.equal(problem.get('request_id'), hit.id, what);
      return hit;
    }
    assert.match(hit.type, /^application\/json/, what);
    const { error } = JSON.parse(hit.text) as {
      error: { type: string; code: ApiErrorCode; message: string; request_id: string };
    };
    assert.deepEqual(PROBLEMS[error.code], { status: hit.status, type: error.type }, what);
    assert.equal(error.request_id, hit.id, what);
    // What the OpenAPI document says of the operation.
    assert.ok(route === undefined || codesOf(route).includes(error.code), `undeclared: ${what}`);
    assert.ok(error.message.length > 0 && error.message.length < 1000, what);
    return hit;
  };

  const volley = async (shots: readonly Shot[]): Promise<readonly Hit[]> => {
    const hits: Hit[] = [];
    for (let i = 0; i < shots.length; i += 16) {
      hits.push(...(await Promise.all(shots.slice(i, i + 16).map(aim))));
    }
    return hits;
  };

  const json = (key?: string): Record<string, string> => ({
    'Content-Type': 'application/json',
    ...(key === undefined ? {} : { 'X-API-Key': key }),
  });

  before(async () => {
    running = await run();
    dispatch = new Dispatch(running.gateway.routes());
    stranger = (await running.gateway.tenants.issue({ tenant: 'stranger', kind: 'live' })).key;
    // Something of another tenant is there to be found.
    for (const route of running.gateway.routes().filter(({ method }) => method === 'POST')) {
      const body = JSON.stringify({
        ...(route.example as object | undefined),
        ...{ message: SECRET, context: SECRET, session_id: SECRET },
      });
      await shoot({ method: 'POST', path: route.path, body, headers: json(running.live) });
    }
  });

  after(async () => {
    agent.destroy();
    await running.close();
  });

  const writes = (): readonly Route[] =>
    running.gateway.routes().filter(({ method, path }) => method === 'POST' && !path.includes('{'));

  it('withstands hostile members, with a key', async () => {
    for (const route of writes()) {
      const shots = [...bodiesOf(route)].map((body) => {
        return { method: 'POST', path: route.path, body, headers: json(stranger) };
      });
      await volley(shots);
    }
  });

  it('withstands hostile members, without one and in the sandbox', async () => {
    for (const route of writes()) {
      const shots = [...bodiesOf(route)].flatMap((body, i) => {
        const headers = json(i % 2 === 0 ? undefined : running.sandbox);
        return i % 3 === 0 ? [{ method: 'POST', path: route.path, body, headers }] : [];
      });
      await volley(shots);
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
    await volley(shots);
  });

  it('withstands other methods, other types of content and bodies where none belongs', async () => {
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
    await volley(shots);
  });

  it('refuses a key that does not hold, wherever it stands', async () => {
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
    for (const { status, text } of await volley(shots)) assert.equal(status, 401, text);
  });

  it('shows a stranger no words of another tenant', async () => {
    for (const kind of ['live', 'sandbox'] as const) {
      const log = running.gateway.logs[kind];
      for (let index = 0; index < Math.min(log.size(), 60); index += 1) {
        const { entry_id } = JSON.parse(log.entry(index) ?? '{}') as { entry_id: string };
        await volley(
          [undefined, stranger, running.sandbox].flatMap((key) =>
            [`/receipt/lookup?entry_id=${entry_id}`, `/r/${entry_id}?log=${kind}`].map((path) => {
              return { method: 'GET', path, headers: json(key) };
            }),
          ),
        );
      }
    }
  });

  it('has put no words of a caller into a log', () => {
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
