// The HTTP mirror: repeats a request after a passing failure, gives up with a reason, and limits what it reads.

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { listening } from '../../support/listening.ts';
import type { Listening } from '../../support/listening.ts';
import { HttpMirror } from '../../../tools/mirror/http.ts';

describe('an HTTP mirror', () => {
  let server: Listening;
  let mirror: HttpMirror;
  let asked: string[];
  let waited: number[];
  let answer: (response: ServerResponse, path: string) => void;

  beforeEach(async () => {
    asked = [];
    waited = [];
    server = await listening((request, response) => {
      asked.push(request.url ?? '');
      answer(response, request.url ?? '');
    });
    mirror = new HttpMirror(new URL(`${server.url}/log/live/1/`), {
      attempts: 4,
      backoff_ms: 8,
      timeout_ms: 5000,
      wait: (ms) => Promise.resolve(waited.push(ms)),
    });
  });

  afterEach(async () => {
    await mirror.close();
    await server.close();
  });

  const status = (code: number, body: string | Uint8Array = '') => {
    answer = (response) => {
      response.statusCode = code;
      response.end(body);
    };
  };

  it('repeats a request after a failure that may pass', async () => {
    answer = (response) => {
      response.statusCode = asked.length < 3 ? 503 : 200;
      response.end('note');
    };
    assert.equal(await mirror.checkpoint(), 'note');
    assert.equal(asked.length, 3);
  });

  it('waits longer before each attempt, and as long as Retry-After says', async () => {
    answer = (response) => {
      if (asked.length < 3) response.writeHead(500).end();
      else if (asked.length === 3) response.writeHead(429, { 'retry-after': '7' }).end();
      else response.end('note');
    };
    await mirror.checkpoint();
    const [first = 0, second = 0, third] = waited;
    assert.ok(first > 0 && second > first);
    assert.equal(third, 7000);
  });

  it('gives up after its attempts, and at once after a permanent failure', async () => {
    status(500);
    await assert.rejects(mirror.checkpoint(), { name: 'MirrorTrouble', message: /HTTP 500/ });
    assert.equal(asked.length, 4);
    status(403);
    await assert.rejects(mirror.checkpoint(), { message: /HTTP 403/ });
    assert.equal(asked.length, 5);
  });

  it('reports that there is no log', async () => {
    status(404);
    assert.equal(await mirror.newest(), null);
    await assert.rejects(mirror.checkpoint(), { message: /HTTP 404/ });
  });

  it('follows no redirect', async () => {
    answer = (response) => response.writeHead(302, { location: '/elsewhere' }).end();
    await assert.rejects(mirror.checkpoint(), { message: /HTTP 302/ });
  });

  it('reads the full tile if the partial one is gone', async () => {
    answer = (response, path) => {
      if (path.endsWith('.p/5')) response.writeHead(404).end();
      else response.end(Buffer.alloc(256 * 32, 7));
    };
    assert.deepEqual(await mirror.tile(0, 3, 5), Buffer.alloc(5 * 32, 7));
    assert.deepEqual(asked, ['/log/live/1/tile/0/003.p/5', '/log/live/1/tile/0/003']);
  });

  it('refuses an answer of an impossible size', async () => {
    status(200, Buffer.alloc(33));
    await assert.rejects(mirror.tile(0, 0, 1), { message: /33 bytes/ });
    status(200, Buffer.alloc(257 * 32));
    await assert.rejects(mirror.tile(0, 0, 1), { message: /is over 8192 bytes/ });
    status(200, Buffer.from([0, 9, 1]));
    await assert.rejects(mirror.bundle(0, 1), { message: /breaks off/ });
    status(200, Buffer.from([0, 1, 1]));
    await assert.rejects(mirror.bundle(0, 2), { message: /has 1 entries, not 2/ });
    status(200, Buffer.alloc(300_000));
    await assert.rejects(mirror.checkpoint(), { message: /is over 262144 bytes/ });
  });
});
