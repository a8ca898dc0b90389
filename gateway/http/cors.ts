// `*` on GETs that need no key, and on nothing else (gateway/API.md §4.3). The answer is the same for every
// origin, so that it needs no Vary and caches keep one copy; preflights are answered in match.ts.

import type { Next, RequestContext } from './request.ts';

const EXPOSED = 'X-Request-Id, Link, RateLimit, RateLimit-Policy, Retry-After';

/** Lets any web page read a public GET. */
export function cors(ctx: RequestContext, next: Next): Promise<unknown> {
  if (ctx.state.matched?.shared === true) {
    ctx.res.setHeader('Access-Control-Allow-Origin', '*');
    ctx.res.setHeader('Access-Control-Expose-Headers', EXPOSED);
  }
  return next();
}
