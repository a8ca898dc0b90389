// An HTTP server that receives what the gateway sends, on its own loopback address, with answers that tests choose.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** A received request. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Answers a request; the default is 204. */
export type Answering = (request: Received, res: ServerResponse) => unknown;

/** A listening receiver. */
export interface Receiver {
  readonly server: Server;
  readonly port: number;
  readonly received: readonly Received[];
  /** `http://<host>:<port><path>`, or https. */
  url(path?: string, host?: string): string;
  answer(answering: Answering): void;
  /** Resolves with all requests once `count` of them have arrived. */
  whenReceived(count: number): Promise<readonly Received[]>;
  close(): Promise<void>;
}

const accept: Answering = (_, res) => res.writeHead(204).end();

/** Options of a receiver. */
export interface Listening {
  /** A free port unless given. */
  readonly port?: number;
  /** Its key and certificate in PEM; without them it serves http. */
  readonly tls?: { readonly key: string; readonly cert: string };
}

/**
 * Starts a receiver, on 127.0.0.2 unless given, so that tests can use 127.0.0.1 as an address that must not be
 * reached.
 */
export async function startReceiver(
  address = '127.0.0.2',
  { port: wanted = 0, tls }: Listening = {},
): Promise<Receiver> {
  const received: Received[] = [];
  let waiting: { readonly count: number; readonly done: () => void }[] = [];
  let answering = accept;
  const listener = (req: IncomingMessage, res: ServerResponse): void => {
    void readAll(req).then((body) => {
      const request = { path: req.url ?? '', headers: req.headers, body };
      received.push(request);
      answering(request, res);
      for (const { count, done } of waiting) if (received.length >= count) done();
      waiting = waiting.filter(({ count }) => received.length < count);
    });
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  server.listen(wanted, address);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const scheme = tls === undefined ? 'http' : 'https';
  return {
    server,
    port,
    received,
    url: (path = '/hook', host = address) => `${scheme}://${host}:${String(port)}${path}`,
    answer(next) {
      answering = next;
    },
    async whenReceived(count) {
      if (received.length < count) {
        await new Promise<void>((done) => {
          waiting.push({ count, done });
        });
      }
      return received;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Two receivers on the same port of two addresses. */
export async function startTwins(one: string, other: string): Promise<[Receiver, Receiver]> {
  for (;;) {
    const first = await startReceiver(one);
    try {
      return [first, await startReceiver(other, { port: first.port })];
    } catch {
      // The port was in use on the other address.
      await first.close();
    }
  }
}

async function readAll(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
