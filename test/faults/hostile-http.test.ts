// Hostile requests to a server process: endless bodies, endless nesting, invalid text, clients that never finish, and
// ten thousand of them. The answer is an error envelope or a closed socket, never a 5xx, and memory is bounded.
// gateway/API.md §4.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChildServer } from '../crash/child-server.ts';
import { freePort } from '../support/free-port.ts';

const MEBIBYTE = 1024 * 1024;
/** The memory that all of it together may take above that of the idle server. */
const GROWTH = 256 * MEBIBYTE;

let server: ChildServer;
let key: string;
let port: number;
let data: string;

/** The peak resident memory of the server; proc(5). NaN without /proc. */
function peakMemory(): number {
  try {
    const status = readFileSync(`/proc/${String(server.pid)}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
  } catch {
    return Number.NaN;
  }
}

/** A socket, and what it received until it was closed. */
function talk(to = port): { socket: Socket; heard: Promise<string> } {
  const socket = connect(to, '127.0.0.1');
  const heard = new Promise<string>((resolve) => {
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', () => undefined); // a reset closes the socket
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
  });
  return { socket, heard };
}

const head = (...lines: readonly string[]): string =>
  [
    'POST /api/v1/classify HTTP/1.1',
    'Host: hostile',
    `X-API-Key: ${key}`,
    'Content-Type: application/json',
    ...lines,
    '',
    '',
  ].join('\r\n');

/**
 * Asserts that there is no answer, or one with the envelope and no 5xx; returns its status, or 0 for a closed socket.
 */
function statusOf(answer: string): number {
  if (answer === '') return 0;
  const [, status = ''] = /^HTTP\/1\.1 (\d{3}) /.exec(answer) ?? [];
  assert.match(status, /^[24]\d\d$/, answer.slice(0, 300));
  if (status.startsWith('4')) assert.match(answer, /\{"error":\{"type":"\w+","code":"\w+"/, answer);
  return Number(status);
}

async function post(body: string | Uint8Array): Promise<number> {
  const { socket, heard } = talk();
  socket.write(head(`Content-Length: ${String(Buffer.byteLength(body))}`, 'Connection: close'));
  socket.write(body);
  return statusOf(await heard);
}

/** Asserts that the server still answers normally. */
async function works(): Promise<void> {
  assert.equal(await post('{"message":"Schedule the interview for Monday"}'), 200);
}

describe('a hostile client', function () {
  this.timeout(240_000);
  let idle: number;

  before(async () => {
    data = await mkdtemp(join(tmpdir(), 'actlog-hostile-'));
    port = await freePort();
    // Opening ten thousand connections takes a while, and none of them sends anything.
    const env = { HEADERS_TIMEOUT_MS: '60000', REQUEST_TIMEOUT_MS: '60000' };
    server = await ChildServer.start({ data: join(data, 'patient'), port, env });
    key = server.keys.get('live') ?? '';
    for (let i = 0; i < 50; i += 1) await works();
    idle = peakMemory();
  });

  afterEach(works);

  after(async () => {
    await server.kill();
    await rm(data, { recursive: true, force: true });
  });

  for (const chunked of [false, true]) {
    it(`cannot make the server read 100 MB (${chunked ? 'chunked' : 'announced'})`, async () => {
      const chunk = Buffer.alloc(64 * 1024, '[');
      const one = async (): Promise<number> => {
        const { socket, heard } = talk();
        const length = `Content-Length: ${String(100 * MEBIBYTE)}`;
        socket.write(head(chunked ? 'Transfer-Encoding: chunked' : length));
        let sent = 0;
        while (sent < 100 * MEBIBYTE && !socket.destroyed && socket.writable) {
          if (chunked) socket.write(`${chunk.length.toString(16)}\r\n`);
          const room = socket.write(chunk);
          if (chunked) socket.write('\r\n');
          sent += chunk.length;
          if (!room) {
            await new Promise<void>((resolve) => {
              socket.once('drain', resolve);
              socket.once('close', () => resolve());
            });
          }
        }
        const status = statusOf(await heard);
        assert.ok(sent < 20 * MEBIBYTE, `${String(sent)} bytes were taken`);
        return status;
      };
      for (const status of await Promise.all(Array.from({ length: 16 }, one))) {
        assert.ok(status === 413 || status === 0, String(status));
      }
    });
  }

  const depth = 10_000;
  const bodies: readonly (readonly [string, string | Uint8Array])[] = [
    ['arrays 10,000 deep', '['.repeat(depth) + ']'.repeat(depth)],
    ['objects 10,000 deep', '{"message":'.repeat(depth) + '1' + '}'.repeat(depth)],
    ['10,000 unclosed brackets', `{"message":"x","metadata":${'['.repeat(depth)}`],
    ['a duplicate name', '{"message":"a","message":"b"}'],
    ['a duplicate name with an escape', '{"message":"a","\\u006dessage":"b"}'],
    ['a lone surrogate', '{"message":"\\ud800"}'],
    ['a lone surrogate in a name', '{"message":"x","\\udfff":1}'],
    ['surrogates in the wrong order', '{"message":"\\udc00\\ud800"}'],
    [
      'bad UTF-8',
      Buffer.concat([Buffer.from('{"message":"'), Buffer.of(0xc3, 0x28), Buffer.from('"}')]),
    ],
    [
      'an overlong slash',
      Buffer.concat([Buffer.from('{"message":"'), Buffer.of(0xc0, 0xaf), Buffer.from('"}')]),
    ],
    [
      'a surrogate in UTF-8',
      Buffer.concat([Buffer.from('{"message":"'), Buffer.of(0xed, 0xa0, 0x80), Buffer.from('"}')]),
    ],
    ['a byte order mark', '\ufeff{"message":"x"}'],
    ['UTF-16', Buffer.from('{"message":"x"}', 'utf16le')],
    ['NaN', '{"message":NaN}'],
    ['a number of 100,000 digits', `{"message":${'9'.repeat(100_000)}}`],
    ['a control character', '{"message":"\u0000"}'],
    ['two documents', '{"message":"x"}{"message":"y"}'],
    ['no JSON', randomBytes(4096)],
  ];
  for (const [what, body] of bodies) {
    it(`gets 400 for ${what}`, async () => {
      assert.equal(await post(body), 400);
    });
  }

  it('gets an answer for a member name that objects inherit', async () => {
    const body =
      '{"message":"x","__proto__":{"domain":"hiring"},"constructor":{"prototype":{"a":1}}}';
    assert.equal(await post(body), 400);
  });

  it('gets 4xx or a closed socket for bytes that are not HTTP', async () => {
    const garbage: (string | Buffer)[] = [
      'GET\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      'POST /api/v1/classify HTTP/1.1\r\nContent-Length: -1\r\n\r\n',
      'POST /api/v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!',
      'POST /api/v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'POST /api/v1/classify HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      `GET /${'a'.repeat(100_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
      `GET / HTTP/1.1\r\nHost: x\r\n${'X-A: b\r\n'.repeat(10_000)}\r\n`,
      'GET /%00%ff%2e%2e/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      'GET /log/live/1/tile/0/..%2f..%2fetc HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      'GET /r/%F0%9F HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      ...Array.from({ length: 40 }, () => randomBytes(512)),
    ];
    await Promise.all(
      garbage.map(async (bytes) => {
        const { socket, heard } = talk();
        socket.end(bytes);
        statusOf(await heard);
      }),
    );
  });

  it('is disconnected if it never finishes its headers or its body', async () => {
    const to = await freePort();
    const env = { HEADERS_TIMEOUT_MS: '1500', REQUEST_TIMEOUT_MS: '2500' };
    const hasty = await ChildServer.start({ data: join(data, 'hasty'), port: to, env });
    const slow = Array.from({ length: 100 }, (_, i) => {
      const { socket, heard } = talk(to);
      const request = head('Content-Length: 1000').replace(key, hasty.keys.get('live') ?? '');
      if (i % 2 === 0) socket.write(request.slice(0, -2));
      else socket.write(`${request}{`);
      // A single byte now and then does not extend the time.
      const drip = setInterval(() => {
        if (socket.writable) socket.write('x');
      }, 300);
      return heard.finally(() => {
        clearInterval(drip);
      });
    });
    const served = await fetch(`${hasty.url}/health`);
    assert.equal(served.status, 200, 'other clients are served meanwhile');
    for (const answer of await Promise.all(slow)) statusOf(answer);
    await hasty.kill();
  });

  it('can open 10,000 connections while others are served', async function () {
    const files = Number(execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }));
    // Both ends of each connection are file descriptors, in two processes with a limit each.
    if (Number.isFinite(files) && files < 11_000) this.skip();
    const sockets: Socket[] = [];
    const open = (): Promise<void> =>
      new Promise((resolve) => {
        const socket = connect(port, '127.0.0.1', resolve);
        socket.on('error', () => resolve());
        sockets.push(socket);
      });
    try {
      for (let i = 0; i < 9_900; i += 100) await Promise.all(Array.from({ length: 100 }, open));
      assert.ok(
        sockets.every((socket) => !socket.destroyed),
        'all connections are open',
      );
      await works();
      // Above the limit of 10,000, a connection is closed at once.
      await Promise.all(Array.from({ length: 300 }, open));
      const first = sockets.splice(0, 500);
      await Promise.all(
        first.map(
          (socket) =>
            new Promise((resolve) => {
              if (socket.destroyed) resolve(null);
              else socket.once('close', resolve).destroy();
            }),
        ),
      );
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });

  it('does not make the memory of the server grow without bound', function () {
    const peak = peakMemory();
    if (Number.isNaN(peak)) this.skip();
    const grown = Math.round((peak - idle) / MEBIBYTE);
    assert.ok(peak - idle < GROWTH, `${String(grown)} MiB more than idle`);
  });
});
