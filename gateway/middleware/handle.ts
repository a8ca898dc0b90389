// The last middleware: the route's own handler, and the answer in its final form.

import { finishBody } from '../json-answer.ts';
import type { RequestContext } from '../request.ts';

/** Runs the handler of the matched route. Objects are answered as JSON, strings and bytes as they are. */
export async function handle(ctx: RequestContext): Promise<void> {
  const { matched } = ctx.state;
  if (matched === null) throw new Error('a request is matched before it is handled');
  await matched.route.handle(ctx);
  finishBody(ctx);
}
