// Requests to a gateway without a socket: the request handler that a server would call, with the request and response
// objects of node:http on a stream that keeps what is written to it.

import { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { Active } from '../../gateway/server.ts';
import type { JsonObject } from '../../log/index.ts';

/** What a client sends. */
export interface Request {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly key?: string;
  readonly idempotency_key?: string;
  readonly body?: JsonObject;
}

/** What it is answered. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  /** The body, if it is a JSON object. */
  readonly json: JsonObject;
  readonly replayed: boolean;
}

/** Takes what is written to it, as a socket whose peer reads at once. */
class Wire extends Duplex {
  readonly remoteAddress = '192.0.2.1';
  readonly chunks: Buffer[] = [];

  override _read(): void {
    // Nothing is received on it: the request is complete when it is handled.
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.chunks.push(Buffer.from(chunk));
    done();
  }

  setTimeout(): this {
    return this;
  }
}

/** Sends a request to the handler, and resolves with the whole answer. */
export function send(handler: Active['handler'], request: Request): Promise<Answer> {
  const { method, path, key, idempotency_key, body } = request;
  const wire = new Wire();
  const socket = wire as unknown as Socket; // the part of a socket that node:http and the gateway use
  const message = new IncomingMessage(socket);
  const bytes = body === undefined ? null : Buffer.from(JSON.stringify(body));
  const headers: Record<string, string> = {
    host: 'gateway.example',
    ...(key === undefined ? {} : { 'x-api-key': key }),
    ...(idempotency_key === undefined ? {} : { 'idempotency-key': idempotency_key }),
    ...(bytes === null
      ? {}
      : { 'content-type': 'application/json', 'content-length': String(bytes.length) }),
  };
  Object.assign(message, {
    ...{ method, url: path, headers, httpVersion: '1.1', httpVersionMajor: 1, httpVersionMinor: 1 },
    rawHeaders: Object.entries(headers).flat(),
    complete: true,
  });
  if (bytes !== null) message.push(bytes);
  message.push(null);
  const response = new ServerResponse(message);
  response.assignSocket(socket);
  return new Promise((resolve, reject) => {
    response.once('finish', () => {
      const sent = Buffer.concat(wire.chunks).toString();
      const text = sent.slice(sent.indexOf('\r\n\r\n') + 4);
      const replayed = response.getHeader('idempotent-replayed') === 'true';
      resolve({ status: response.statusCode, text, json: objectIn(text), replayed });
    });
    handler(message, response).catch(reject);
  });
}

function objectIn(text: string): JsonObject {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null ? (value as JsonObject) : {};
  } catch {
    return {};
  }
}
