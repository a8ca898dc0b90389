// Serves a witness over HTTP: add-checkpoint for logs, the monitoring endpoint and the conflicts for everybody. C2SP
// tlog-witness.

import { createServer, type Server } from 'node:http';
import Koa from 'koa';
import getRawBody from 'raw-body';
import type { Witness } from './witness.ts';

/** What a request may hold (as deployed witnesses have it). */
/** Fits a note with 16 signatures of 5 kB each, in base64 (C2SP signed-note), and a proof of 63 lines. */
const MAX_BODY_BYTES = 128 * 1024;
const MONITORED = /^\/([0-9a-f]{64})\/checkpoint$/;

/** A listening server; `close` lets requests in flight finish. */
export async function serveWitness(
  witness: Witness,
  at: { readonly host: string; readonly port: number },
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const app = new Koa();
  app.on('error', () => undefined);
  app.use(async (ctx) => {
    ctx.set('X-Content-Type-Options', 'nosniff');
    if (ctx.path === '/add-checkpoint') {
      if (ctx.method !== 'POST') {
        ctx.set('Allow', 'POST');
        ctx.status = 405;
        return;
      }
      const body = await readBody(ctx.req);
      if (body === null) {
        ctx.status = 413;
        ctx.set('Connection', 'close');
        return;
      }
      const answer = await witness.addCheckpoint(body);
      ctx.status = answer.status;
      ctx.body = Buffer.from(answer.body);
      ctx.set('Content-Type', answer.type);
      return;
    }
    const origin = MONITORED.exec(ctx.path)?.[1];
    const listed = ctx.path === '/conflicts';
    if ((origin !== undefined || listed) && ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      ctx.set('Allow', 'GET, HEAD');
      ctx.status = 405;
      return;
    }
    if (listed) {
      ctx.body = { conflicts: await witness.conflicts() };
      ctx.set('Cache-Control', 'no-cache');
      ctx.set('Access-Control-Allow-Origin', '*');
      return;
    }
    const note = origin === undefined ? null : await witness.checkpoint(origin);
    if (note === null) {
      ctx.status = 404;
      return;
    }
    ctx.body = Buffer.from(note);
    ctx.set('Content-Type', 'text/plain; charset=utf-8');
    ctx.set('Cache-Control', 'no-cache');
    ctx.set('Access-Control-Allow-Origin', '*');
  });
  const handle = app.callback();
  const server = createServer((request, response) => void handle(request, response));
  server.headersTimeout = 10_000;
  server.requestTimeout = 10_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(at.port, at.host, resolve);
  });
  return {
    port: (server.address() as { port: number }).port,
    close: () => closeServer(server),
  };
}

async function readBody(request: Parameters<typeof getRawBody>[0]): Promise<Uint8Array | null> {
  try {
    return await getRawBody(request, { limit: MAX_BODY_BYTES });
  } catch (error) {
    if ((error as { type?: string }).type === 'entity.too.large') return null;
    throw error;
  }
}

function closeServer(server: Server): Promise<void> {
  server.closeIdleConnections();
  return new Promise((resolve, reject) => {
    server.close((error) => {
      if (error === undefined) resolve();
      else reject(error);
    });
  });
}
