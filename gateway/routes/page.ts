// Pages as answers.

import type { ParameterizedContext } from 'koa';

/** Content type of every page. */
export const HTML = 'text/html; charset=utf-8';

/** Sends a rendered page; it is asked for again each time unless the route has said otherwise. */
export function sendPage(ctx: ParameterizedContext<object>, html: string): void {
  if (ctx.response.get('Cache-Control') === '') ctx.set('Cache-Control', 'no-cache');
  ctx.set('Content-Type', HTML);
  ctx.body = Buffer.from(html);
}
