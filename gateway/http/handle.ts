// The last middleware: the route's own handler, and the answer in its final form.

import { finishBody } from './json-answer.ts';
import type { RequestContext } from './request.ts';

/**
 * Runs the handler of the matched route. Objects are answered as JSON, strings and bytes as they are; a handler that
 * answers nothing is a defect of its author, who may have returned what was to be the body.
 */
export async function handle(ctx: RequestContext): Promise<void> {
  const { matched } = ctx.state;
  if (matched === null) throw new Error('a request is matched before it is handled');
  await matched.route.handle(ctx);
  if (answeredNothing(ctx)) {
    throw new Error(
      'the handler answered nothing: it sets ctx.body, or ctx.status where there is no body',
    );
  }
  finishBody(ctx);
}

/** Koa begins with a bare 404; 204, 304 and redirects are answers, and so is what a handler sends by itself. */
const answeredNothing = (ctx: RequestContext): boolean =>
  ctx.status === 404 && ctx.respond !== false && !ctx.headerSent && (ctx.body ?? null) === null;
