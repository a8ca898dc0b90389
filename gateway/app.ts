// The request path: plain reads of the logs first, then the middlewares in their order, each in http/.

import type { IncomingMessage, ServerResponse } from 'node:http';
import Koa from 'koa';
import type { Middleware } from 'koa';
import { forward } from './cluster/forward.ts';
import { Dispatch } from './http/dispatch.ts';
import type { Gateway } from './gateway.ts';
import { authenticate } from './http/authenticate.ts';
import { batches, lineBody } from './http/batch.ts';
import { body } from './http/body.ts';
import { compress } from './http/compress.ts';
import { idempotency } from './http/idempotency.ts';
import { match } from './http/match.ts';
import {
  accessLog,
  cors,
  errors,
  handle,
  prefer,
  query,
  requestId,
  securityHeaderList,
  securityHeaders,
} from './http/middleware.ts';
import { rateLimits } from './http/rate-limit.ts';
import { plainReads } from './routes/plain-reads.ts';

/** Builds the handler of all requests of an open gateway: plain reads of its logs, and a Koa application of its routes. */
export function buildHandler(
  gateway: Gateway,
): (req: IncomingMessage, res: ServerResponse) => Promise<void> {
  const { config } = gateway;
  const app = new Koa({ env: 'production' });
  const headers = securityHeaderList(gateway.base_url.startsWith('https:'));
  const limits = rateLimits(config);
  const once = idempotency();
  const line = [errors, limits.request, prefer, lineBody, limits.work, once, handle];
  const order = [
    requestId(gateway),
    securityHeaders(headers),
    accessLog,
    errors,
    match(new Dispatch(gateway.routes())),
    forward(gateway),
    cors,
    authenticate,
    compress(),
    limits.request,
    prefer,
    query,
    body,
    batches(line),
    limits.work,
    once,
    handle,
  ];
  for (const middleware of order) app.use(middleware as Middleware);
  // Only broken connections get here: the errors middleware answers every other error.
  app.on('error', (error: Error) => gateway.logger.debug({ err: error }, 'connection'));
  return plainReads(gateway, limits, app.callback());
}
