// The address of the client, as rate limits and idempotency scopes count it (gateway/API.md §4.2).
//
// Behind TRUST_PROXY proxies it is the element of X-Forwarded-For that the outermost trusted proxy added. Proxies
// write that element in several forms: with a port, in brackets, or as a word where they do not know the address.

import ipaddr from 'ipaddr.js';
import type { RequestContext } from './request.ts';

/**
 * The address of the client of a request: that of X-Forwarded-For where trusted proxies are configured, else that of
 * the peer. An element that is not an address counts with the peer; as a text of its own, each spelling of it would
 * be another client with a full rate limit.
 */
export function clientAddress(ctx: RequestContext): string {
  const peer = ctx.req.socket.remoteAddress ?? '';
  // Without TRUST_PROXY this list is empty. With it, Koa has cut the list to that many elements.
  const [forwarded] = ctx.ips;
  return (forwarded === undefined ? null : parseAddress(forwarded)) ?? peer;
}

/** The IP address in a text such as `192.0.2.7:1234` or `[2001:db8::1]:443`, in its one spelling; null for another. */
export function parseAddress(text: string): string | null {
  const bare =
    /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text;
  if (ipaddr.IPv4.isValidFourPartDecimal(bare)) return bare;
  // The scope of a link-local address names an interface of the proxy, not a client.
  const address = bare.replace(/%.*$/s, '');
  return ipaddr.IPv6.isValid(address) ? ipaddr.process(address).toString() : null;
}
