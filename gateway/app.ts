// The gateway's request path as a list: read it as a checklist. Each middleware is one file.

import Koa from 'koa';
import type { Middleware } from 'koa';
import { Dispatch } from './http/dispatch.ts';
import type { Gateway } from './gateway.ts';
import { accessLog } from './http/access-log.ts';
import { authenticate } from './http/authenticate.ts';
import { body } from './http/body.ts';
import { cors } from './http/cors.ts';
import { errors } from './http/errors.ts';
import { handle } from './http/handle.ts';
import { idempotency } from './http/idempotency.ts';
import { match } from './http/match.ts';
import { prefer } from './http/prefer.ts';
import { query } from './http/query.ts';
import { rateLimits } from './http/rate-limit.ts';
import { requestId } from './http/request-id.ts';
import { securityHeaderList, securityHeaders } from './http/security-headers.ts';

/** Builds the Koa application of an open gateway from its routes. */
export function buildApp(gateway: Gateway): Koa {
  const { config } = gateway;
  const app = new Koa({
    proxy: config.TRUST_PROXY > 0,
    maxIpsCount: config.TRUST_PROXY,
    env: 'production',
  });
  const headers = securityHeaderList(gateway.base_url.startsWith('https:'));
  const limits = rateLimits(config);
  const order = [
    requestId(gateway),
    securityHeaders(headers),
    accessLog,
    errors,
    match(new Dispatch(gateway.routes())),
    cors,
    authenticate,
    limits.request,
    query,
    body,
    prefer,
    limits.work,
    idempotency(),
    handle,
  ];
  for (const middleware of order) app.use(middleware as Middleware);
  // What reaches Koa's own handler is a broken connection: the errors middleware has had everything else.
  app.on('error', (error: Error) => gateway.logger.debug({ err: error }, 'connection'));
  return app;
}
