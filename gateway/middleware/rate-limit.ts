// Rate limits in memory, by key or by address, and how many unbounded answers are under way at a time.
// behaviour.md §4.2; draft-ietf-httpapi-ratelimit-headers.

import ipaddr from 'ipaddr.js';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ApiError } from '../../plugins/contract.ts';
import type { Config } from '../config.ts';
import type { Next, RequestContext } from '../request.ts';
import { isShared } from '../tenants/tenants.ts';

const WINDOW_S = 60;

interface Limit {
  readonly limiter: RateLimiterMemory;
  readonly policy: string;
  readonly name: string;
}

/** An address as limits count it: IPv4 whole, IPv6 by its /64. All texts that are not an address are one client. */
export function networkOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return 'unknown';
  const address = ipaddr.process(ip);
  if (address.kind() === 'ipv4') return address.toString();
  return `${(address as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}

/** Counts a request against the limit of its caller; 429 with Retry-After beyond it. */
export function rateLimit(config: Config) {
  const limit = (name: string, points: number): Limit => ({
    name,
    limiter: new RateLimiterMemory({ points, duration: WINDOW_S, keyPrefix: name }),
    policy: `"${name}";q=${String(points)};w=${String(WINDOW_S)}`,
  });
  const limits = {
    sandbox: limit('sandbox', config.RATE_SANDBOX),
    live: limit('live', config.RATE_LIVE),
    writes: limit('anonymous-writes', config.RATE_ANONYMOUS_WRITES),
    reads: limit('public-reads', config.RATE_PUBLIC_READS),
    log: limit('log-reads', config.RATE_LOG_READS),
  };
  const underWay = new UnderWay(config.MAX_SESSION_READS);
  if (config.RATE_LIMITS === 'off') return (_ctx: RequestContext, next: Next) => next();
  return async (ctx: RequestContext, next: Next): Promise<void> => {
    const { matched, caller } = ctx.state;
    const budget = matched?.budget ?? 'none';
    if (budget !== 'none') {
      const key = budget === 'log' || isShared(caller.tenant) ? null : caller.key_id;
      const { limiter, name, policy } =
        key !== null
          ? limits[caller.kind]
          : limits[budget === 'log' ? 'log' : budget === 'read' ? 'reads' : 'writes'];
      const who = key ?? networkOf(caller.ip);
      const cost = Math.min(matched?.route.cost ?? 1, limiter.points);
      const taken = await limiter.consume(who, cost).catch(refusal);
      const wait = Math.max(1, Math.ceil(taken.msBeforeNext / 1000));
      ctx.res.setHeader('RateLimit-Policy', policy);
      ctx.res.setHeader(
        'RateLimit',
        `"${name}";r=${String(taken.remainingPoints)};t=${String(wait)}`,
      );
      if (taken.consumedPoints > limiter.points) {
        const headers = { 'Retry-After': String(wait) };
        throw new ApiError('rate_limited', `too many requests: wait ${String(wait)} s`, {
          headers,
        });
      }
      if (matched?.route.whole === true) {
        await underWay.pass(`${name} ${who}`, ctx, next);
        return;
      }
    }
    await next();
  };
}

/** Requests whose work is not bounded, by caller: rates alone would let one caller have all of them at once. */
class UnderWay {
  readonly #most: number;
  readonly #counts = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  async pass(who: string, { res }: RequestContext, next: Next): Promise<void> {
    const count = this.#counts.get(who) ?? 0;
    if (count >= this.#most) {
      const message = `${String(this.#most)} such requests are under way already`;
      throw new ApiError('rate_limited', message, { headers: { 'Retry-After': '1' } });
    }
    this.#counts.set(who, count + 1);
    // A handler goes on after its client has left, and a stream after its handler.
    const closed = new Promise((resolve) => res.once('close', resolve));
    try {
      await next();
    } finally {
      void closed.then(() => {
        this.#ended(who);
      });
    }
  }

  #ended(who: string): void {
    const count = (this.#counts.get(who) ?? 0) - 1;
    if (count > 0) this.#counts.set(who, count);
    else this.#counts.delete(who);
  }
}

/** The limiter rejects with the same result that it resolves with; anything else is a defect. */
function refusal(reason: unknown): RateLimiterRes {
  if (reason instanceof RateLimiterRes) return reason;
  throw reason as Error;
}
