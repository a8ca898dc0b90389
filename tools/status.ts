// The address at which a monitor or a witness says how it is, for the party that runs it: metrics for Prometheus, and
// health.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import type { JsonObject } from '../log/index.ts';
import { CommandError, EXIT } from './command-line.ts';

/** What is served. */
export interface Status {
  readonly registry: Registry;
  /** `ok` is false while somebody has to look: it is answered with 503. */
  health(): JsonObject & { readonly ok: boolean };
}

/**
 * Serves `GET /metrics` and `GET /health`.
 *
 * @param at `host:port`, the value of `--metrics`
 * @throws CommandError for another value
 */
export async function serveStatus(
  at: string,
  status: Status,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const { host, port } = hostAndPort('--metrics', at);
  const server = createServer((request, response) => {
    const path = request.url?.split('?', 1)[0];
    const send = (code: number, type: string, body: string): void => {
      response.writeHead(code, { 'content-type': type, 'cache-control': 'no-store' });
      response.end(request.method === 'HEAD' ? undefined : body);
    };
    if (path !== '/metrics' && path !== '/health') {
      send(404, 'text/plain', 'only /metrics and /health are here\n');
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      send(405, 'text/plain', 'only GET and HEAD\n');
    } else if (path === '/health') {
      const body = status.health();
      send(body.ok ? 200 : 503, 'application/json', `${JSON.stringify(body)}\n`);
    } else {
      status.registry.metrics().then(
        (text) => {
          send(200, status.registry.contentType, text);
        },
        (error: unknown) => {
          send(500, 'text/plain', `${String(error)}\n`);
        },
      );
    }
  });
  server.headersTimeout = 10_000;
  server.requestTimeout = 10_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

/** The host and the port that an option names, IPv6 in brackets; CommandError for none. */
export function hostAndPort(
  option: string,
  text: string,
): { readonly host: string; readonly port: number } {
  const [, bracketed, plain, digits] =
    /^(?:\[([0-9a-f:.]+)\]|([^:\s[\]]+)):(\d{1,5})$/i.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port > 65_535) {
    throw new CommandError(`${option} ${text} is no HOST:PORT`, EXIT.unknown);
  }
  return { host, port };
}
