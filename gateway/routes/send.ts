// Answers that are bytes or text already: with an entity tag, 304 where the client has them. RFC 9110 §13.1.2.

import type { ParameterizedContext } from 'koa';

/**
 * Sends bytes of a type. `etag` is a strong tag, quotes included. A Uint8Array goes out as a view, without
 * a copy: Koa would take it for JSON.
 */
export function sendBytes(
  ctx: ParameterizedContext<object>,
  bytes: Uint8Array,
  type: string,
  etag: string,
): void {
  ctx.set('ETag', etag);
  const known = ctx.req.headers['if-none-match'];
  if (known !== undefined && matches(known, etag)) {
    ctx.status = 304;
    return;
  }
  ctx.set('Content-Type', type);
  ctx.body = Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Sends what is JSON text already; as bytes, which Node sends without counting them first. */
export function sendText(ctx: ParameterizedContext<object>, json: string): void {
  ctx.set('Content-Type', 'application/json; charset=utf-8');
  ctx.body = Buffer.from(json);
}

/** Weak comparison against a list of tags or `*`. */
function matches(header: string, etag: string): boolean {
  return (
    header.trim() === '*' ||
    header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
  );
}
