// Request bodies: strict JSON only, with a size limit that holds before they are read. gateway/API.md §1.3, §4.2, §4.3.

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { notes } from '../notes.ts';
import { run } from '../running.ts';
import type { Running } from '../running.ts';
import { codeOf } from './envelope.ts';

const json = { 'Content-Type': 'application/json' };
const lenient = { ...json, Prefer: 'handling=lenient' };

describe('a body', () => {
  let running: Running;
  const lines: string[] = [];
  const options = { plugins: [notes()], lines: (line: string) => lines.push(line) };
  before(async () => (running = await run({}, options)));
  after(() => running.close());

  const send = (body: string | undefined, headers: Record<string, string> = json) =>
    running.ask('POST', '/notes/a', { headers, ...(body === undefined ? {} : { body }) });
  const raw = async (body: Uint8Array, headers: Record<string, string> = json) => {
    const response = await fetch(`${running.url}/notes/a`, {
      method: 'POST',
      headers,
      body: Buffer.from(body),
    });
    const { error } = (await response.json()) as { error?: { code: string; message: string } };
    return { status: response.status, code: error?.code, message: error?.message };
  };

  it('is required', async () => {
    assert.equal(codeOf(await send(undefined), 400), 'body_required');
    assert.equal(codeOf(await send(''), 400), 'body_required');
  });

  it('may contain unknown members, also with fractions and odd names, if the request prefers lenient handling', async () => {
    const text = '{"text":"x","other":{"__proto__":1.5,"constructor":null}}';
    const answer = await send(text, lenient);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json.ignored, ['other']);
    assert.equal(codeOf(await send(text), 400), 'parameter_unknown');
  });

  for (const [what, text, column] of [
    ['no JSON', '{', 2],
    ['a text that was cut off', '{"text":"x","other":[1', 23],
    ['a trailing comma', '{"text":"x",}', 13],
    ['single quotes', "{'text':'x'}", 2],
    ['two documents', '{"text":"x"} {}', 14],
    ['a duplicate name', '{"text":"x","text":"y"}', 13],
    ['a duplicate name that is escaped', '{"text":"x","\\u0074ext":"y"}', 13],
    ['a lone surrogate, escaped', '{"text":"\\ud800"}', 9],
    ['minus zero', '{"text":"x","number":-0}', 22],
    ['an integer that a double would change', '{"text":"x","number":9007199254740993}', 22],
    ['17 levels', `{"text":"x","deep":${'['.repeat(16)}${']'.repeat(16)}}`, 35],
    ['10,000 levels', `{"text":"x","deep":${'['.repeat(10_000)}${']'.repeat(10_000)}}`, 35],
    ['a byte order mark', '\ufeff{"text":"x"}', 1],
    ['NaN', '{"text":"x","number":NaN}', 22],
    ['blanks alone', '  ', 3],
  ] as const) {
    it(`is refused for ${what}, with the place of it`, async () => {
      const answer = await send(text);
      assert.equal(codeOf(answer, 400), 'invalid_json');
      const place = `line 1, column ${String(column)} (byte offset ${String(column - 1)})`;
      assert.ok(answer.json.error.message.endsWith(`, at ${place}`), answer.text);
    });
  }

  it('is refused without a quotation in the answer or the log', async () => {
    lines.length = 0;
    for (const text of [
      '{"Zebra":"Quagga" "Zebra":1}',
      '{"Zebra":1,"Zebra":"Quagga"}',
      '{"text":Zebra}',
      '{"Zebra":"\\Quagga"}',
    ]) {
      const answer = await send(text);
      assert.equal(codeOf(answer, 400), 'invalid_json');
      assert.doesNotMatch(answer.text, /zebra|quagga/i);
    }
    // In cluster mode the node that forwards a request also logs a line.
    assert.ok(lines.filter((line) => line.includes('"status":400')).length >= 4);
    assert.doesNotMatch(lines.join(''), /zebra|quagga/i);
  });

  it('may nest 16 levels', async () => {
    const text = `{"text":"x","deep":${'['.repeat(15)}${']'.repeat(15)}}`;
    assert.equal((await send(text, lenient)).status, 200);
  });

  it('is refused for bad UTF-8', async () => {
    const bytes = Buffer.concat([
      Buffer.from('{"text":"'),
      Buffer.of(0xc3, 0x28),
      Buffer.from('"}'),
    ]);
    const { status, code, message = '' } = await raw(bytes);
    assert.deepEqual([status, code], [400, 'invalid_json']);
    assert.match(message, /not UTF-8, at line 1, column 10 \(byte offset 9\)$/);
  });

  it('must be an object', async () => {
    for (const text of ['[]', '"x"', '1', 'null'])
      assert.equal(codeOf(await send(text), 400), 'parameter_invalid');
  });

  for (const [type, status] of [
    ['application/json', 200],
    ['application/json; charset=utf-8', 200],
    ['Application/JSON;charset="UTF-8"', 200],
    ['application/json; charset=latin1', 415],
    ['application/jsonx', 415],
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['multipart/form-data; boundary=x', 415],
    [';', 415],
  ] as const) {
    it(`of type ${type} is ${String(status)}`, async () => {
      const answer = await send('{"text":"x"}', { 'Content-Type': type });
      assert.equal(answer.status, status);
      if (status === 415) assert.equal(codeOf(answer, 415), 'unsupported_media_type');
    });
  }

  it('must not be compressed', async () => {
    const answer = await send('{"text":"x"}', { ...json, 'Content-Encoding': 'gzip' });
    assert.equal(codeOf(answer, 415), 'unsupported_media_type');
  });

  it('may have at most 256 KiB', async () => {
    const fits = (length: number): string => {
      const head = '{"text":"x","pad":"';
      return `${head}${'a'.repeat(length - head.length - 2)}"}`;
    };
    assert.equal((await send(fits(262_144), lenient)).status, 200);
    assert.equal(codeOf(await send(fits(262_145)), 413), 'payload_too_large');
  });

  it('is refused by its Content-Length before it is read', async () => {
    const socket = connect(running.port, '127.0.0.1');
    socket.write(
      'POST /notes/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 104857600\r\n\r\n',
    );
    const text = await readAll(socket);
    assert.match(text, /^HTTP\/1\.1 413 /);
    assert.match(text, /Connection: close/i);
    assert.match(text, /payload_too_large/);
  });

  it('is cut off at the limit if it has no Content-Length', async () => {
    const socket = connect(running.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(
      'POST /notes/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    const chunk = `10000\r\n${'a'.repeat(65_536)}\r\n`;
    let sent = 0;
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    // Writes as long as the server reads; 100 MB would be far above the limit.
    const pump = (): void => {
      while (!socket.destroyed && sent < 1600) {
        sent += 1;
        if (!socket.write(chunk)) {
          socket.once('drain', pump);
          return;
        }
      }
    };
    pump();
    socket.resume();
    await closed;
    assert.ok(socket.bytesWritten < 100_000_000, String(socket.bytesWritten));
    assert.equal((await send('{"text":"x"}')).status, 200);
  });

  it('with Expect gets 100 Continue, or the error', async () => {
    const ask = (length: number): Socket => {
      const socket = connect(running.port, '127.0.0.1');
      socket.write(
        'POST /notes/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n' +
          `Expect: 100-continue\r\nContent-Length: ${String(length)}\r\n\r\n`,
      );
      return socket;
    };
    const good = ask(12);
    good.once('data', () => good.write('{"text":"x"}'));
    assert.match(await readAll(good), /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
    assert.match(await readAll(ask(104_857_600)), /^HTTP\/1\.1 413 /);
  });

  it('may arrive in one piece with its headers, in chunks, or behind another request', async () => {
    const socket = connect(running.port, '127.0.0.1');
    const post = (rest: string): string =>
      `POST /notes/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${rest}`;
    const chunks = ['{"te', 'xt":"', 'x"}'].map((part) => `${String(part.length)}\r\n${part}\r\n`);
    socket.write(
      post('Content-Length: 12\r\n\r\n{"text":"x"}') +
        post(`Transfer-Encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`) +
        post('Content-Length: 0\r\n\r\n') +
        post('Connection: close\r\nContent-Length: 12\r\n\r\n{"text":'),
    );
    socket.once('data', () => socket.write('"x"}'));
    const statuses = (await readAll(socket)).matchAll(/HTTP\/1\.1 (\d+) /g);
    assert.deepEqual(
      [...statuses].map(([, status]) => status),
      ['200', '200', '400', '200'],
    );
  });

  it('that ends early has no effect', async () => {
    const socket = connect(running.port, '127.0.0.1');
    const total = running.gateway.logs.live.row('notes/total');
    socket.write(
      'POST /notes/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"text":',
    );
    await new Promise<void>((resolve) => socket.end(resolve));
    assert.equal((await send('{"text":"x"}')).status, 200);
    assert.equal(running.gateway.logs.live.row('notes/total'), Number(total) + 1);
  });
});

/** Everything that a server sends until it closes the connection. */
function readAll(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => (text += chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(text));
  });
}
