// Authenticates the caller (gateway/API.md §3.2, §3.3).
//
// A key that a request presents must be valid, even on a route that needs none: an invalid key is 401, and the caller
// is never treated as the public tenant instead.

import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { ApiError } from '../../plugins/contract/index.ts';
import type { Caller, Role, Route } from '../../plugins/contract/index.ts';
import { isVisitorRoute } from '../host/visitors.ts';
import type { KeyRefusal } from '../tenants/api-key.ts';
import { headerCount } from './request.ts';
import type { Next, RequestContext } from './request.ts';

const REFUSALS: Record<KeyRefusal, string> = {
  api_key_invalid: 'this API key is not known',
  api_key_revoked: 'this API key was revoked',
  api_key_expired: 'this API key has expired',
};

/** Sets `state.caller`. */
export function authenticate(ctx: RequestContext, next: Next): Promise<unknown> {
  const { state } = ctx;
  const { gateway, matched } = state;
  if (matched === null) throw new Error('a request is matched before it is authenticated');
  const ip = clientAddress(ctx);
  const key = presentedKey(ctx);
  const { access, method } = matched.route;
  // Caches do not know that X-API-Key is a credential: the answer must not be reused for another caller.
  if (method === 'GET' && access !== 'read') ctx.set('Cache-Control', 'no-store');
  if (isVisitorRoute(matched.route)) {
    return visitor(ctx, key, ip).then((caller) => {
      state.caller = caller;
      return next();
    });
  }
  if (key === null) {
    state.caller = withoutKey(ctx, matched.route, ip);
    return next();
  }
  const record = gateway.tenants.authenticate(key);
  if (typeof record === 'string') throw new ApiError(record, REFUSALS[record]);
  state.caller = gateway.tenants.caller(record, gateway.logs[record.kind], ip);
  requireRole(record.role, matched.roles);
  return next();
}

/** The key of X-API-Key or of Authorization: Bearer; both given and different is 401. */
function presentedKey(ctx: RequestContext): string | null {
  const { headers } = ctx.req;
  const plain = headers['x-api-key'];
  const authorization = headers.authorization;
  if (plain === undefined && authorization === undefined) return null;
  let bearer: string | undefined;
  if (authorization !== undefined) {
    if (headerCount(ctx.req, 'authorization') > 1) {
      throw new ApiError('api_key_invalid', 'the request has several Authorization headers');
    }
    bearer = /^Bearer +([^ ]+) *$/i.exec(authorization)?.[1];
    if (bearer === undefined) {
      throw new ApiError('api_key_invalid', 'the Authorization header holds no bearer key');
    }
  }
  if (plain !== undefined && bearer !== undefined && plain !== bearer) {
    throw new ApiError('api_key_invalid', 'X-API-Key and Authorization name different keys');
  }
  return (plain as string | undefined) ?? bearer ?? null;
}

/** The caller of a demonstration, which is open to everyone and accepts no key. */
async function visitor(ctx: RequestContext, key: string | null, ip: string): Promise<Caller> {
  const { gateway } = ctx.state;
  if (key !== null) {
    throw new ApiError('api_key_invalid', 'a demonstration takes no key: ask the route itself');
  }
  if (gateway.config.ANONYMOUS_WRITES === 'deny') {
    throw new ApiError('api_key_missing', 'this service takes no writes without a key');
  }
  return gateway.tenants.visitor(gateway.logs.sandbox, ip);
}

function withoutKey(ctx: RequestContext, route: Route, ip: string): Caller {
  const { state } = ctx;
  const { gateway } = state;
  const { access, method, appends = method !== 'GET', asksLive = false } = route;
  const { ANONYMOUS_WRITES } = gateway.config;
  const open =
    access === 'read' || (access === 'open' && !(appends && ANONYMOUS_WRITES === 'deny'));
  if (!open) {
    throw new ApiError('api_key_missing', 'this request needs an API key');
  }
  const sandboxed = access === 'open' && ANONYMOUS_WRITES === 'sandbox';
  state.may_append = !(sandboxed && asksLive);
  const kind = sandboxed && state.may_append ? 'sandbox' : 'live';
  return gateway.tenants.anonymous(gateway.logs[kind], ip);
}

function requireRole(role: Role, roles: ReadonlySet<Role>): void {
  if (roles.has(role)) return;
  const allowed = [...roles].join(' or ');
  throw new ApiError('role_forbidden', `this request needs a key of role ${allowed}, not ${role}`);
}

/**
 * The address by which rate limits and idempotency scopes tell clients apart (gateway/API.md §4.2). Behind TRUST_PROXY
 * proxies it is the element of X-Forwarded-For that the outermost trusted proxy added, otherwise the address of the
 * peer. Proxies write the element with a port, in brackets, or as a word where they do not know the address; an element
 * that holds no address counts as the peer, because otherwise each spelling would get a full rate limit of its own. Of a
 * request that a node of the cluster has forwarded, it is the address that this node has found.
 */
export function clientAddress({ state, req }: RequestContext): string {
  return state.client_ip ?? addressOf(req, state.gateway.config.TRUST_PROXY);
}

/** The address of a client behind so many trusted proxies, as `clientAddress` says. */
export function addressOf({ socket, headers }: IncomingMessage, proxies: number): string {
  const peer = socket.remoteAddress ?? '';
  if (proxies === 0) return peer;
  // Node joins several X-Forwarded-For headers to one list.
  const [forwarded = ''] = String(headers['x-forwarded-for'] ?? '')
    .split(',')
    .slice(-proxies);
  return parseAddress(forwarded.trim()) ?? peer;
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
