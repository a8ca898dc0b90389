// Finds the declared route: 404 without one, 405 with Allow for another method, OPTIONS answered here.

import { ApiError } from '../../plugins/contract/index.ts';
import { filledPath } from './dispatch.ts';
import type { Dispatch, PathRoutes } from './dispatch.ts';
import type { Next, RequestContext } from './request.ts';
import { headerCount } from './request.ts';

/** Sets `state.matched` and `state.params`. */
export function match(dispatch: Dispatch) {
  return (ctx: RequestContext, next: Next): Promise<unknown> => {
    const found = dispatch.match(pathOf(ctx));
    if (found === null) throw new ApiError('route_not_found', 'there is nothing at this path');
    const { routes } = found;
    const method = ctx.method === 'HEAD' ? 'GET' : ctx.method;
    const matched = routes.get(method);
    if (matched !== undefined) {
      ctx.state.matched = matched;
      ctx.state.params = found.params;
      if (matched.alias) {
        const target = ctx.state.gateway.base_url + filledPath(matched, found.params);
        ctx.set('Link', `<${target}>; rel="canonical"`);
      }
      return next();
    }
    const allow = allowed(routes);
    if (method !== 'OPTIONS') {
      const options = { headers: { Allow: allow } };
      throw new ApiError('method_not_allowed', `this path answers ${allow}`, options);
    }
    ctx.set('Allow', allow);
    ctx.status = 204;
    if (routes.get('GET')?.shared === true) {
      ctx.set('Access-Control-Allow-Origin', '*');
      ctx.set('Access-Control-Allow-Methods', 'GET, HEAD');
      ctx.set('Access-Control-Allow-Headers', 'Accept, If-None-Match, If-Modified-Since');
      ctx.set('Access-Control-Max-Age', '86400');
    }
    return Promise.resolve();
  };
}

/** The path of the request target. A target in absolute form may be an invalid URL (RFC 9112 §3.2). */
function pathOf(ctx: RequestContext): string {
  const { headers, httpVersion } = ctx.req;
  if (headers.host === undefined && httpVersion === '1.1') {
    throw new ApiError('parameter_invalid', 'the request names no host', { param: 'Host' });
  }
  if (headerCount(ctx.req, 'host') > 1) {
    throw new ApiError('parameter_invalid', 'the request names several hosts', { param: 'Host' });
  }
  try {
    return ctx.path;
  } catch (cause) {
    throw new ApiError('parameter_invalid', 'the target of the request is not a valid URL', {
      cause,
    });
  }
}

function allowed(routes: PathRoutes): string {
  const methods = [...routes.keys()].flatMap((method) =>
    method === 'GET' ? ['GET', 'HEAD'] : [method],
  );
  return [...methods, 'OPTIONS'].join(', ');
}
