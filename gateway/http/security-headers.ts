// The security headers of every answer: a strict content security policy without inline script, and what keeps
// browsers from guessing types, framing pages and sending referrers. Constants, so that a request costs six writes.

import type { Middleware } from 'koa';

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
];

type Header = readonly [name: string, value: string];

/** The headers of a service; `secure` when it is reached over https. */
export const securityHeaderList = (secure: boolean): readonly Header[] => [
  ['content-security-policy', POLICY.join(';')],
  ['cross-origin-opener-policy', 'same-origin'],
  // Tiles, keys and catalogs are for every origin.
  ['cross-origin-resource-policy', 'cross-origin'],
  ['referrer-policy', 'no-referrer'],
  ...(secure
    ? [['strict-transport-security', 'max-age=31536000; includeSubDomains'] satisfies Header]
    : []),
  ['x-content-type-options', 'nosniff'],
  ['x-frame-options', 'DENY'],
];

/** Sets the headers on every answer. */
export function securityHeaders(list: readonly Header[]): Middleware {
  return (ctx, next) => {
    for (const [name, value] of list) ctx.res.setHeader(name, value);
    return next();
  };
}
