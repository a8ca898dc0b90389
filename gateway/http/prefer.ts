// `Prefer: wait=N` on an append: the answer waits for the checkpoint, 30 seconds at most. RFC 7240; gateway/API.md §1.4.

import type { Next, RequestContext } from './request.ts';

const LONGEST_S = 30;

/** Sets `state.wait_ms`; a preference that is malformed or not ours is ignored, as the RFC says. */
export function prefer(ctx: RequestContext, next: Next): Promise<unknown> {
  const header = ctx.req.headers['prefer'];
  if (typeof header === 'string') {
    const seconds = /(?:^|[,;])\s*wait\s*=\s*"?(\d{1,9})"?\s*(?=$|[,;])/i.exec(header)?.[1];
    if (seconds !== undefined) ctx.state.wait_ms = Math.min(Number(seconds), LONGEST_S) * 1000;
  }
  return next();
}
