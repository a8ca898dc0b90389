// Clients that send no valid HTTP, are too slow, or are too many: they get an envelope or a closed socket.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { definePlugin, route } from '../../../plugins/contract/index.ts';
import type { EarlierPlugin } from '../../../plugins/contract/index.ts';
import { notes } from '../notes.ts';
import { run } from '../running.ts';
import type { Running } from '../running.ts';
import { until } from '../webhooks/receiving.ts';

/** A route with an endless answer, and one that answers only after a client has closed the first. */
function streaming(): { readonly plugin: EarlierPlugin; readonly ended: Promise<void> } {
  let end!: () => void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const responses = { 200: { description: 'Bytes.', type: 'text/plain' } };
  const shared = { method: 'GET', tag: 'streaming', access: 'read', responses } as const;
  const plugin = definePlugin({
    contract: 1,
    name: 'streaming',
    title: 'Streaming',
    types: [],
    routes: () => [
      route({
        ...shared,
        path: '/endless',
        summary: 'An answer without end',
        handle(ctx) {
          const chunk = Buffer.alloc(65_536, 'x');
          const body = new Readable({ read: () => void body.push(chunk) });
          body.on('close', end);
          ctx.body = body;
        },
      }),
      route({
        ...shared,
        path: '/patient',
        summary: 'An answer that takes its time',
        async handle(ctx) {
          await ended;
          ctx.body = 'at last';
        },
      }),
    ],
  });
  return { plugin, ended };
}

/** Sends a text, and reads until the server closes the connection. */
async function talk(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.setEncoding('utf8');
  socket.on('data', (chunk: string) => (answer += chunk));
  socket.on('error', () => undefined);
  socket.write(text);
  await once(socket, 'close');
  return answer;
}

describe('a listening gateway', () => {
  let running: Running;
  /** A gateway with short time limits, which closes slow and idle connections. */
  let hasty: Running;
  before(async () => {
    running = await run({}, { plugins: [notes()] });
    hasty = await run(
      { HEADERS_TIMEOUT_MS: '200', REQUEST_TIMEOUT_MS: '400', MAX_CONNECTIONS: '20' },
      { plugins: [notes()] },
    );
  });
  after(async () => {
    await running.close();
    await hasty.close();
  });

  for (const [what, text, status] of [
    ['no HTTP', 'hello\r\n\r\n', 400],
    ['a TLS handshake', '\x16\x03\x01\x02\x00\x01\x00', 400],
    ['an invalid length', 'POST /notes/a HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n', 400],
    [
      'two lengths',
      'POST /notes/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      400,
    ],
    [
      'length and chunks',
      'POST /notes/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
    ],
    ['no host', 'GET /health HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['two hosts', 'GET /health HTTP/1.1\r\nHost: x\r\nhost: y\r\nConnection: close\r\n\r\n', 400],
    [
      'an invalid target',
      'GET http://[/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      400,
    ],
    [
      'a header of 20 kB',
      `GET /health HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`,
      431,
    ],
    ['half a header', 'GET /health HTTP/1.1\r\nHost: x\r\n', 408],
  ] as const) {
    it(`answers ${what} with ${String(status)} and closes`, async () => {
      const { port } = status === 408 ? hasty : running;
      const answer = await talk(port, text);
      assert.match(answer, new RegExp(`^HTTP/1\\.1 ${String(status)} `));
      const [head = '', body = ''] = answer.split('\r\n\r\n');
      const { error } = JSON.parse(body) as {
        error: { type: string; message: string; request_id: string };
      };
      assert.equal(error.type, 'invalid_request_error');
      assert.ok(head.includes(`X-Request-Id: ${error.request_id}`));
      const lines = head.toLowerCase().split('\r\n');
      assert.equal(lines.filter((line) => line.startsWith('content-security-policy: ')).length, 1);
      assert.equal(lines.filter((line) => line === 'x-content-type-options: nosniff').length, 1);
      assert.match(error.message, status === 431 ? /16384 bytes/ : status === 408 ? /slowly/ : /./);
    });
  }

  it('answers a refused request on a connection that was used before', async () => {
    const socket = connect(running.port, '127.0.0.1');
    let answers = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => (answers += chunk));
    socket.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => Promise.resolve(answers.endsWith('}') ? true : null));
    socket.write(`GET /health HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`);
    await once(socket, 'close');
    assert.match(answers, /^HTTP\/1\.1 200 [^]*HTTP\/1\.1 431 [^]*"parameter_invalid"/);
  });

  it('reads every header, regardless of how many precede it', async () => {
    const many = Array.from({ length: 2500 }, () => 'a:').join('\r\n');
    const request = `GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${many}\r\n`;
    assert.match(await talk(running.port, `${request}\r\n`), /^HTTP\/1\.1 200 /);
    assert.match(await talk(running.port, `${request}X-API-Key: x\r\n\r\n`), /^HTTP\/1\.1 401 /);
  });

  it('refuses a second key, in either header', async () => {
    for (const [one, other] of [
      ['Authorization: Bearer', 'authorization: Bearer'],
      ['X-API-Key:', 'x-api-key:'],
    ] as const) {
      const keys = `${one} ${running.live}\r\n${other} ${running.sandbox}`;
      const request = `GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${keys}\r\n\r\n`;
      const answer = await talk(running.port, request);
      assert.match(answer, /^HTTP\/1\.1 401 /);
      assert.match(answer, /"api_key_invalid"/);
    }
  });

  it('ignores an expectation that it does not know', async () => {
    const answer = await talk(
      running.port,
      'GET /health HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\nConnection: close\r\n\r\n',
    );
    assert.match(answer, /^HTTP\/1\.1 200 /);
  });

  it('sends 100 Continue to clients that may, before the body', async () => {
    for (const [version, continues] of [
      ['1.1', true],
      ['1.0', false],
    ] as const) {
      const answer = await talk(
        running.port,
        `POST /notes/a HTTP/${version}\r\nHost: x\r\nContent-Type: application/json\r\n` +
          'Expect: 100-continue\r\nContent-Length: 12\r\nConnection: close\r\n\r\n{"text":"a"}',
      );
      assert.equal(answer.includes('100 Continue'), continues, version);
      assert.match(answer, /HTTP\/1\.1 200 OK/);
    }
  });

  it('closes on a body that comes too slowly', async () => {
    const answer = await talk(
      hasty.port,
      'POST /notes/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{',
    );
    assert.doesNotMatch(answer, /^HTTP\/1\.1 [25]/);
  });

  it('closes sockets of clients that do not read an answer, and keeps those of clients that wait for one', async () => {
    const { plugin, ended } = streaming();
    const one = await run({ SEND_TIMEOUT_MS: '300' }, { plugins: [plugin] });
    const patient = one.get('/patient');
    const socket = connect(one.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.pause();
    socket.write('GET /endless HTTP/1.1\r\nHost: x\r\n\r\n');
    await ended;
    assert.equal((await patient).text, 'at last');
    socket.destroy();
    await one.close();
  });

  it('closes connections beyond the limit, and accepts new ones when others have closed', async () => {
    const sockets: Socket[] = [];
    let refused = 0;
    for (let i = 0; i < 40; i += 1) {
      const socket = connect(hasty.port, '127.0.0.1');
      socket.on('error', () => undefined);
      sockets.push(socket);
    }
    const closing = sockets.map((socket) => once(socket, 'close').then(() => (refused += 1)));
    await Promise.race([Promise.all(closing.slice(20)), Promise.all(closing)]);
    assert.ok(refused >= 20, `${String(refused)} were closed`);
    for (const socket of sockets) socket.destroy();
    await Promise.all(closing);
    // The server notices a closed connection a little later than the client.
    const served = await until(() => hasty.get('/notes/total').catch(() => null));
    assert.equal(served.status, 200);
  });
});
