// Security headers on every answer, a strict CSP without inline script. They are helmet's; as they never
// change, helmet runs once at boot and its headers are set as they are, at a tenth of its cost for a request.

import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import type { Middleware } from 'koa';
import helmet from 'koa-helmet';

/** The headers that koa-helmet sets for this service; `secure` when it is reached over https. */
export async function securityHeaderList(secure: boolean): Promise<[string, string][]> {
  const app = new Koa();
  app.use(
    helmet({
      contentSecurityPolicy: {
        useDefaults: false,
        directives: {
          defaultSrc: ["'none'"],
          scriptSrc: ["'self'"],
          styleSrc: ["'self'"],
          imgSrc: ["'self'", 'data:'],
          fontSrc: ["'self'"],
          connectSrc: ["'self'"],
          formAction: ["'self'"],
          baseUri: ["'none'"],
          frameAncestors: ["'none'"],
        },
      },
      // Tiles, keys and catalogs are for every origin.
      crossOriginResourcePolicy: { policy: 'cross-origin' },
      strictTransportSecurity: secure,
      // These speak of browsers that are gone, and of answers that run nothing.
      originAgentCluster: false,
      xDnsPrefetchControl: false,
      xDownloadOptions: false,
      xPermittedCrossDomainPolicies: false,
      xXssProtection: false,
      xFrameOptions: { action: 'deny' },
    }),
  );
  app.use((ctx) => {
    ctx.status = 204;
  });
  const server = createServer((req, res) => void app.callback()(req, res));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const headers = await new Promise<NodeJS.Dict<string | string[]>>((resolve, reject) => {
      request({ port, host: '127.0.0.1', agent: false }, (res) => {
        res.resume();
        resolve(res.headers);
      })
        .on('error', reject)
        .end();
    });
    return Object.entries(headers).filter(
      (pair): pair is [string, string] =>
        typeof pair[1] === 'string' && !['date', 'connection', 'keep-alive'].includes(pair[0]),
    );
  } finally {
    server.close();
  }
}

/** Sets the headers on every answer. */
export function securityHeaders(list: readonly (readonly [string, string])[]): Middleware {
  return (ctx, next) => {
    for (const [name, value] of list) ctx.res.setHeader(name, value);
    return next();
  };
}
