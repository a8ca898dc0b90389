// One line and one measurement for each answer: what was asked by whom, never keys, bodies or query texts.

import type { Next, RequestContext } from './request.ts';

/** Logs and counts each answer once it has been made. */
export async function accessLog(ctx: RequestContext, next: Next): Promise<void> {
  await next();
  const { state } = ctx;
  const { gateway, matched, request_id } = state;
  const ms = performance.now() - state.started;
  const route = matched?.canonical ?? 'none';
  gateway.metrics.request(route, ctx.method, ctx.status, ms / 1000);
  if (!gateway.logger.isLevelEnabled('info')) return;
  const caller = matched === null ? null : (state.caller as typeof state.caller | undefined);
  gateway.logger.info(
    {
      request_id,
      method: ctx.method,
      route,
      status: ctx.status,
      ms: Math.round(ms * 1000) / 1000,
      tenant: caller?.tenant,
      key_id: caller?.key_id ?? undefined,
    },
    'request',
  );
}
