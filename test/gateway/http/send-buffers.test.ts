// Clients that do not read: the buffers of their answers are limited, and their connections are closed. The tests use real
// sockets that are never read.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { SendBuffers } from '../../../gateway/http/send-buffers.ts';
import { run } from '../running.ts';
import { until } from '../webhooks/receiving.ts';

/** More than the socket buffers of the system can hold. */
const LARGE = 16 * 1024 * 1024;

/** Opens a connection, sends a text and reads nothing. */
function stalled(port: number, text: string): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.pause();
  socket.on('error', () => undefined);
  socket.write(text);
  return socket;
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

describe('answers that the client does not read', () => {
  let server: Server;
  let port: number;
  let buffers: SendBuffers;
  let answers: ServerResponse[];
  const clients: Socket[] = [];
  beforeEach(async () => {
    answers = [];
    buffers = new SendBuffers(2 * LARGE);
    server = createServer((req, res) => {
      buffers.add(req, res);
      answers.push(res);
      res.end(Buffer.alloc(req.url === '/small' ? 100 : LARGE));
      server.emit('answered');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.destroy();
    server.close();
  });

  const open = async (text: string, answered = 1): Promise<void> => {
    const before = answers.length;
    clients.push(stalled(port, text));
    while (answers.length < before + answered) await once(server, 'answered');
  };

  it('are kept within the limit; the connections with the fullest buffers are closed first', async () => {
    await open(get('/small'));
    for (let i = 0; i < 4; i += 1) await open(get('/large'));
    assert.ok(buffers.bytes() > 2 * LARGE, 'the system accepts a part of each answer');
    const large = answers.slice(1);
    const closed = large.map((res) => once(res, 'close'));
    buffers.sweep();
    assert.deepEqual(
      large.filter(({ destroyed }) => destroyed),
      [],
      'no connection is closed before its client had time to read',
    );
    // Once the system accepts no more bytes, nothing changes between two sweeps.
    const ended = async (): Promise<number> => {
      buffers.sweep();
      await new Promise((resolve) => setImmediate(resolve));
      return large.filter(({ destroyed }) => destroyed).length;
    };
    const count = await until(async () => (await ended()) || null);
    assert.ok(count >= 1);
    await Promise.race(closed);
    assert.ok(buffers.bytes() <= 2 * LARGE, String(buffers.bytes()));
    assert.ok((await ended()) <= 3, 'answers within the limit may wait');
    assert.equal(answers[0]?.writableFinished, true, 'a small answer is sent');
  });

  it('close a connection that pipelines more than a few requests', async () => {
    const connected = once(server, 'connection') as Promise<[Socket]>;
    clients.push(stalled(port, get('/large').repeat(40)));
    const [connection] = await connected;
    if (!connection.destroyed) await once(connection, 'close');
    assert.equal(buffers.bytes(), 0);
    assert.ok(answers.length <= 40);
  });
});

describe('streams that the client does not read', () => {
  it('are closed, and their buffers are freed', async () => {
    const running = await run({
      SEND_BUFFER_BYTES: '1048576',
      // Only the limit on buffers can end the streams.
      SEND_TIMEOUT_MS: '600000',
      MAX_BODY_BYTES: String(LARGE),
    });
    const body = JSON.stringify({
      model: 'svc-seal-1',
      stream: true,
      messages: [{ role: 'assistant', content: 'x'.repeat(LARGE - 1000) }],
    });
    const request =
      `POST /api/v1/inference/chat/completions HTTP/1.1\r\nHost: x\r\nX-API-Key: ${running.sandbox}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${String(body.length)}\r\n\r\n${body}`;
    const clients = [stalled(running.port, request)];
    const log = running.gateway.logs.sandbox;
    const seals = (): number =>
      Array.from({ length: log.size() }, (_, i) => log.entry(i) ?? '').filter((text) =>
        text.includes('"type":"foundry.inference.v1"'),
      ).length;
    // A stream is sealed when its chunks were sent or its client has disconnected; this client never reads.
    await until(async () => (seals() === clients.length ? true : null));
    for (const client of clients) client.destroy();
    await running.close();
  });
});
