// Path and query parameters against the route's schemas; a repeated name is refused.

import { ApiError } from '../../plugins/contract/index.ts';
import type { Next, RequestContext } from './request.ts';

/** Sets `state.query` and checks `state.params`. */
export function query(ctx: RequestContext, next: Next): Promise<unknown> {
  const { state } = ctx;
  const { matched } = state;
  if (matched === null) throw new Error('a request is matched before its query is read');
  if (ctx.querystring !== '') {
    const given = ctx.query;
    for (const name of Object.keys(given)) {
      if (typeof given[name] !== 'string') {
        throw new ApiError('parameter_invalid', `${name} stands more than once`, { param: name });
      }
    }
    state.query = given;
  }
  matched.params?.(state.params);
  matched.query?.(state.query);
  return next();
}
