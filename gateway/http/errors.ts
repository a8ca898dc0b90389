// The one place where an error becomes an answer: the envelope, with the status of the problem table.

import type { ApiError, Route } from '../../plugins/contract/index.ts';
import { apiError, envelope, PROBLEMS, problemHeaders } from './problems.ts';
import type { Next, RequestContext } from './request.ts';

/** Answers whatever is thrown below with the error envelope; causes go to the log only. */
export async function errors(ctx: RequestContext, next: Next): Promise<void> {
  try {
    await next();
  } catch (thrown) {
    try {
      answerError(ctx, apiError(thrown), ctx.state.matched?.route);
    } catch (defect) {
      // A header or member of the error that cannot be sent, or a route's own form that throws.
      answerError(ctx, apiError(new Error('an error could not be answered', { cause: defect })));
    }
  }
}

function answerError(ctx: RequestContext, error: ApiError, route?: Route): void {
  const { status } = PROBLEMS[error.code];
  const { request_id, gateway, matched } = ctx.state;
  // A probe that asks whether the service is ready is no failure, and comes every few seconds.
  if (status >= 500 && error.code !== 'not_ready') {
    const err = error.cause ?? error;
    gateway.logger.error({ request_id, route: matched?.canonical, err }, error.code);
  }
  ctx.status = status;
  ctx.set('Content-Type', 'application/json; charset=utf-8');
  ctx.set(problemHeaders(error));
  ctx.remove('ETag');
  ctx.set('Cache-Control', 'no-store');
  const enveloped = envelope(error, request_id);
  const own = route?.problem?.({ status, ...enveloped.error });
  if (own === undefined) {
    ctx.body = JSON.stringify(enveloped);
  } else {
    ctx.set('Content-Type', own.type);
    ctx.body = Buffer.from(own.body);
  }
}
