// Who asks. A key that is presented must hold, whatever the route declares: never silently downgraded
// to the public tenant. gateway/API.md §3.2, §3.3.

import { ApiError } from '../../plugins/contract/index.ts';
import type { Caller, Role, Route } from '../../plugins/contract/index.ts';
import { clientAddress } from './client-address.ts';
import { isDemonstration } from '../demo/calls.ts';
import type { Next, RequestContext } from './request.ts';
import type { KeyRefusal } from '../tenants/api-key.ts';
import { headerCount } from './header-count.ts';

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
  // X-API-Key tells a cache on the way nothing: what one key may see is for nobody else.
  if (method === 'GET' && access !== 'read') ctx.set('Cache-Control', 'no-store');
  if (isDemonstration(matched.route)) {
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

/** The caller of a demonstration: nobody's key is taken for it, and none is needed. */
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
