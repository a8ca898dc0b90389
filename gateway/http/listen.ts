// The HTTP server around the app: timeouts and limits against slow clients and many connections, error envelopes for
// invalid HTTP, and a graceful stop.

import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { base62 } from '../tenants/base62.ts';
import type { Config } from '../config.ts';
import { SendBuffers } from './send-buffers.ts';

type Handler = (req: IncomingMessage, res: ServerResponse) => unknown;

/** A server that listens. */
export interface Listening {
  readonly port: number;
  /** Stops accepting connections, waits for requests in flight, and closes the rest after SHUTDOWN_TIMEOUT_MS. */
  close(): Promise<void>;
}

/** The request line and all headers together. */
const MAX_HEADER_BYTES = 16_384;

/** How often connections are checked for clients that do not read. */
const SWEEP_MS = 250;

/**
 * Starts listening on HOST and PORT; `headers` are sent with every answer, including answers to requests that never
 * reach the handler.
 */
export async function listen(
  config: Config,
  handler: Handler,
  headers: readonly (readonly [string, string])[],
): Promise<Listening> {
  const server = createServer({
    headersTimeout: config.HEADERS_TIMEOUT_MS,
    requestTimeout: config.REQUEST_TIMEOUT_MS,
    keepAliveTimeout: config.KEEP_ALIVE_TIMEOUT_MS,
    connectionsCheckingInterval: Math.min(1000, config.HEADERS_TIMEOUT_MS),
    maxHeaderSize: MAX_HEADER_BYTES,
    // A request without a Host header is refused with the error envelope (match.ts).
    requireHostHeader: false,
  });
  // No limit on the number of headers, because Node drops those beyond it, such as a key or headers of a proxy. Their
  // bytes are limited.
  server.maxHeadersCount = 0;
  server.maxConnections = config.MAX_CONNECTIONS;
  server.timeout = config.SEND_TIMEOUT_MS;
  const buffers = new SendBuffers(config.SEND_BUFFER_BYTES);
  const sweeper = setInterval(() => buffers.sweep(), SWEEP_MS);
  sweeper.unref();
  let stopping = false;
  const serve: Handler = (req, res) => {
    // A kept-alive connection would delay the stop until its idle timeout.
    if (stopping) res.setHeader('Connection', 'close');
    res.on('timeout', endStalled);
    buffers.add(req, res);
    return handler(req, res);
  };
  server.on('request', serve);
  // The body middleware sends 100 Continue when it accepts the body.
  server.on('checkContinue', serve);
  // Any other expectation may be ignored (RFC 9110 §10.1.1); Node's own 417 has no envelope.
  server.on('checkExpectation', serve);
  server.on('clientError', refuse(headers.map((pair) => `${pair.join(': ')}\r\n`).join('')));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: config.HOST, port: config.PORT, backlog: 4096 }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      stopping = true;
      clearInterval(sweeper);
      return stop(server, config.SHUTDOWN_TIMEOUT_MS);
    },
  };
}

/**
 * A client that stops reading would keep its socket and the memory of its answer; it is closed after the timeout. A
 * client that waits for an answer is not.
 */
function endStalled(socket: Socket): void {
  if (socket.writableLength > 0) socket.destroy();
}

async function stop(server: Server, timeout_ms: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  // Closes connections whose last answer is sent during the stop.
  const idle = setInterval(() => server.closeIdleConnections(), 20);
  const deadline = setTimeout(() => server.closeAllConnections(), timeout_ms);
  await closed;
  clearInterval(idle);
  clearTimeout(deadline);
}

interface Refusal {
  readonly status: string;
  readonly message: string;
}

const REFUSALS: Readonly<Record<string, Refusal>> = {
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    message: 'the request came too slowly',
  },
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    message: `the address and the headers of the request are too long, the limit is ${String(MAX_HEADER_BYTES)} bytes together`,
  },
};
const NO_HTTP: Refusal = { status: '400 Bad Request', message: 'the request is no valid HTTP' };

/**
 * Answers a request that is invalid, too long or too slow with the error envelope and the given header lines, and
 * closes the connection.
 */
const refuse =
  (lines: string) =>
  (error: NodeJS.ErrnoException, socket: Socket): void => {
    // The same check as in Node: an answer that has begun must not get a second one.
    const { _httpMessage: answering } = socket as { readonly _httpMessage?: ServerResponse | null };
    if (error.code === 'ECONNRESET' || !socket.writable || answering?.headersSent === true) {
      socket.destroy();
      return;
    }
    const request_id = `req_${base62(24)}`;
    const { status, message } = REFUSALS[error.code ?? ''] ?? NO_HTTP;
    const body = JSON.stringify({
      error: { type: 'invalid_request_error', code: 'parameter_invalid', message, request_id },
    });
    socket.end(
      `HTTP/1.1 ${status}\r\n${lines}` +
        'Connection: close\r\nContent-Type: application/json; charset=utf-8\r\nCache-Control: no-store\r\n' +
        `X-Request-Id: ${request_id}\r\nContent-Length: ${String(body.length)}\r\n\r\n${body}`,
      () => socket.destroy(),
    );
  };
