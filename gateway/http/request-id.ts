// The first middleware: the state of the request, and its id on every answer. gateway/API.md §4.1.

import type { Middleware } from 'koa';
import type { Gateway } from '../gateway.ts';
import { AppendingRequest } from './append.ts';

/** Gives each request its state and its X-Request-Id. */
export function requestId(gateway: Gateway): Middleware {
  return (ctx, next) => {
    const state = new AppendingRequest(gateway, ctx);
    ctx.state = state;
    ctx.res.setHeader('X-Request-Id', state.request_id);
    return next();
  };
}
