// `npm run test:connections`: 10,000 clients each send half a request and then nothing, and keep their connections
// open while others are served; prints the answers and the memory of the server. Requires `ulimit -n` of 11,000.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChildServer } from '../crash/child-server.ts';
import { freePort } from '../support/free-port.ts';

const CONNECTIONS = Number(process.env['CONNECTIONS'] ?? 10_000);
/** Long enough to open all connections before the first one times out, also on a slow machine. */
const TIMEOUT_MS = 90_000;
const AT_ONCE = 200;

const HALF_A_HEAD = 'POST /api/v1/classify HTTP/1.1\r\nHost: x\r\nX-API-K';
const data = await mkdtemp(join(tmpdir(), 'actlog-connections-'));
const port = await freePort();
const env = {
  MAX_CONNECTIONS: String(CONNECTIONS + 1000),
  HEADERS_TIMEOUT_MS: String(TIMEOUT_MS),
  REQUEST_TIMEOUT_MS: String(TIMEOUT_MS),
};
const server = await ChildServer.start({ data, port, env });
const key = server.keys.get('live') ?? '';
const HALF_A_BODY =
  `POST /api/v1/classify HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n` +
  'Content-Type: application/json\r\nContent-Length: 4000\r\n\r\n{"message":"Schedule the';

/** Resident memory of the server, in MiB; proc(5). */
const resident = (): number => {
  const status = readFileSync(`/proc/${String(server.pid)}/status`, 'utf8');
  return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024);
};

/** The number of answers to other clients by status, and the longest time that one of them took. */
const served: Record<string, number> = {};
let longest_ms = 0;
async function serve(rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    for (const [path, init] of [
      ['/health', {}],
      [
        '/api/v1/classify',
        {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-api-key': key },
          body: '{"message":"Schedule the interview for Monday"}',
        },
      ],
    ] as const) {
      const started = performance.now();
      const { status } = await fetch(server.url + path, init);
      longest_ms = Math.max(longest_ms, performance.now() - started);
      const what = `${path} ${String(status)}`;
      served[what] = (served[what] ?? 0) + 1;
    }
  }
}

/** The result of each client. */
const ended: Record<string, number> = {};
const sockets: Socket[] = [];
const closings: Promise<void>[] = [];
async function open(half: string): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  let heard = '';
  socket.on('data', (chunk) => (heard += chunk.toString('latin1')));
  socket.on('error', () => undefined);
  closings.push(
    new Promise((resolve) => {
      socket.on('close', () => {
        const how = /^HTTP\/1\.1 (\d{3})/.exec(heard)?.[1] ?? 'closed';
        ended[how] = (ended[how] ?? 0) + 1;
        resolve();
      });
    }),
  );
  await once(socket, 'connect');
  socket.write(half);
}

try {
  await serve(50);
  const before_mib = resident();
  const started = performance.now();
  for (let n = 0; n < CONNECTIONS; n += AT_ONCE) {
    const halves = Array.from({ length: AT_ONCE }, (_, i) => (i % 2 ? HALF_A_HEAD : HALF_A_BODY));
    await Promise.all(halves.map(open));
  }
  const open_at_once = sockets.filter(({ destroyed }) => !destroyed).length;
  const opened_s = Math.round((performance.now() - started) / 1000);
  await serve(50);
  const at_most_mib = resident();
  // Other clients are also served while thousands of connections time out.
  while (sockets.some(({ destroyed }) => !destroyed)) await serve(1);
  await Promise.all(closings);
  const closed_s = Math.round((performance.now() - started) / 1000);
  await serve(50);
  const after_mib = resident();
  const failed =
    open_at_once < CONNECTIONS ||
    Object.keys(ended).some((how) => how !== '408' && how !== 'closed') ||
    Object.keys(served).some((what) => !what.endsWith(' 200'));
  console.log(
    JSON.stringify(
      {
        ...{ connections: CONNECTIONS, open_at_once, opened_s, closed_s },
        ...{ before_mib, at_most_mib, after_mib, ended, served },
        longest_ms: Math.round(longest_ms),
        failed,
      },
      null,
      2,
    ),
  );
  if (failed) process.exitCode = 1;
} finally {
  for (const socket of sockets) socket.destroy();
  await server.kill();
  await rm(data, { recursive: true, force: true });
}
