// Sends answers that are serialised already. With an entity tag that the client has, the answer is 304 (RFC 9110
// §13.1.2).

import type { ParameterizedContext } from 'koa';

/**
 * Sends bytes. A Uint8Array is wrapped in a Buffer without a copy, because Koa would send it as JSON.
 *
 * @param etag a strong entity tag with its quotes
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

/** Sends JSON text as bytes, because Node would scan a string for its length first. */
export function sendText(ctx: ParameterizedContext<object>, json: string): void {
  ctx.set('Content-Type', 'application/json; charset=utf-8');
  ctx.body = Buffer.from(json);
}

/** Weak comparison with a list of tags or `*`. The tag of a compressed answer ends in `-gzip` (http/compress.ts). */
function matches(header: string, etag: string): boolean {
  return (
    header.trim() === '*' ||
    header.split(',').some(
      (tag) =>
        tag
          .trim()
          .replace(/^W\//, '')
          .replace(/-gzip"$/, '"') === etag,
    )
  );
}
