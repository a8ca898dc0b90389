// Bodies in the form that Koa sends as they are: text or Buffer. Koa would print a Uint8Array as JSON, and an
// object a second time to measure it.

import type { RequestContext } from './request.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

/** Answers with a value as JSON. */
export function answerJson(ctx: RequestContext, value: object): void {
  answerText(ctx, JSON.stringify(value));
}

/** Answers with what is JSON text already. */
export function answerText(ctx: RequestContext, json: string): void {
  ctx.res.setHeader('Content-Type', JSON_TYPE);
  ctx.body = json;
}

/** Puts the body that a handler set into its final form. */
export function finishBody(ctx: RequestContext): void {
  const body = ctx.body;
  if (typeof body !== 'object' || body === null || Buffer.isBuffer(body)) return;
  if (body instanceof Uint8Array) {
    ctx.body = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  } else if (typeof (body as { pipe?: unknown }).pipe !== 'function') {
    answerJson(ctx, body);
  }
}
