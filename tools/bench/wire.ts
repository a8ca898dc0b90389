// Load over keep-alive connections by a client that does next to nothing: with two cores, one that parses
// every header costs more than the servers it is to measure.

import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { createHistogram } from 'node:perf_hooks';
import type { RecordableHistogram } from 'node:perf_hooks';

/** Connections of a shot that names no other number; one request on each at a time. */
export const CONNECTIONS = 64;

/** What is asked, again and again. */
export interface Shot {
  readonly url: string;
  readonly seconds: number;
  readonly connections?: number;
  readonly method?: 'GET' | 'POST';
  /** Asked for each request; the path of the URL unless given. */
  readonly path?: () => string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A function makes one for each request, all of one length in bytes. */
  readonly body?: string | (() => string);
}

/** What came of it. */
export interface Fired {
  /** Answers a second; all of them 200. */
  readonly rate: number;
  /** Answers in total. */
  readonly count: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
}

/** Fires for so many seconds; rejects at the first answer that is not 200. */
export async function fire(shot: Shot): Promise<Fired> {
  const latency = createHistogram();
  const request = requestsOf(shot);
  const start = performance.now();
  const end = start + shot.seconds * 1000;
  const { hostname, port } = new URL(shot.url);
  await Promise.all(
    Array.from({ length: shot.connections ?? CONNECTIONS }, () => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      return talk(socket, request, end, latency);
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  return {
    rate: latency.count / seconds,
    count: latency.count,
    p50_ms: latency.percentile(50) / 1000,
    p99_ms: latency.percentile(99) / 1000,
  };
}

/** Answers a second. */
export const rate = async (shot: Shot): Promise<number> => (await fire(shot)).rate;

function requestsOf(shot: Shot): () => string {
  const { method = 'GET', headers = {}, body = '', url } = shot;
  const made = typeof body === 'string' ? () => body : body;
  const { host, pathname, search } = new URL(url);
  const lines = Object.entries({
    host,
    ...(method === 'POST' ? { 'content-length': String(Buffer.byteLength(made())) } : {}),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  const rest = ` HTTP/1.1\r\n${lines.join('')}\r\n`;
  const path = shot.path ?? (() => pathname + search);
  return () => `${method} ${path()}${rest}${made()}`;
}

/** One request after the other on one connection, until the time is over. */
function talk(
  socket: Socket,
  request: () => string,
  end: number,
  latency: RecordableHistogram,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let sent = 0;
    let waiting = -1;
    let head = '';
    let tail = '';
    const send = (): void => {
      sent = performance.now();
      if (sent >= end) {
        socket.destroy();
        resolve();
      } else socket.write(request());
    };
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed a connection')));
    socket.on('data', (bytes: Buffer) => {
      if (waiting < 0) {
        head += bytes.toString('latin1');
        const length = lengthOf(head);
        if (length === null) return;
        if (!head.startsWith('HTTP/1.1 200')) {
          socket.destroy();
          reject(new Error(`answer is no 200: ${head.slice(0, 500)}`));
          return;
        }
        waiting = length - head.length;
        tail = head.slice(-LAST_CHUNK.length);
      } else {
        waiting -= bytes.length;
        if (waiting === Infinity) {
          tail = (tail + bytes.toString('latin1')).slice(-LAST_CHUNK.length);
        }
      }
      if (waiting === Infinity ? tail !== LAST_CHUNK : waiting > 0) return;
      waiting = -1;
      head = '';
      latency.record(Math.max(1, Math.round((performance.now() - sent) * 1000)));
      send();
    });
  });
}

/** The end of an answer in chunks (RFC 9112 §7.1). JSON text has no carriage return, so no body that is asked for has it. */
const LAST_CHUNK = '\r\n0\r\n\r\n';

/** Length of head and body together, infinite for an answer in chunks; null while the head is not whole. */
function lengthOf(head: string): number | null {
  const end = head.indexOf('\r\n\r\n');
  if (end < 0) return null;
  if (/\r\ntransfer-encoding: chunked\r\n/i.test(head.slice(0, end + 2))) return Infinity;
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(head)?.[1];
  if (length === undefined) throw new Error(`answer has no Content-Length: ${head.slice(0, 500)}`);
  return end + 4 + Number(length);
}
