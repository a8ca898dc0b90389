// Rate limits in memory, by key or by address: of requests, of the cost of their input, and of concurrent unbounded
// answers. gateway/API.md §4.2; draft-ietf-httpapi-ratelimit-headers.

import ipaddr from 'ipaddr.js';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ApiError, HEAVY_COST } from '../../plugins/contract/index.ts';
import type { Config } from '../config.ts';
import type { Next, RequestContext } from './request.ts';
import { isShared } from '../tenants/tenants.ts';

const WINDOW_S = 60;
/** The number of heavy requests of one caller that run or wait. */
const MAX_IN_LINE = 8;

interface Limit {
  readonly limiter: RateLimiterMemory;
  readonly policy: string;
  readonly name: string;
}

/**
 * The client of an address: a whole IPv4 address, or the /64 of an IPv6 address. All other texts count as one client.
 */
export function networkOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return 'unknown';
  const address = ipaddr.process(ip);
  if (address.kind() === 'ipv4') return address.toString();
  return `${(address as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}

/** The two middlewares of the limits: a request counts before its body is read, its work once the input is known. */
export interface RateLimits {
  /** Counts a request for 1, or for the number that its route declares; 429 with Retry-After beyond the limit. */
  readonly request: (ctx: RequestContext, next: Next) => Promise<unknown>;
  /** Counts the further cost of the input, and runs heavy work of one caller one request at a time. */
  readonly work: (ctx: RequestContext, next: Next) => Promise<unknown>;
}

/** The limits of the configuration. */
export function rateLimits(config: Config): RateLimits {
  const pass = (_ctx: RequestContext, next: Next): Promise<unknown> => next();
  if (config.RATE_LIMITS === 'off') return { request: pass, work: pass };
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
  /** The caller whose limit counts a request; null for a route that is not counted. */
  const limitOf = ({ state }: RequestContext): { limit: Limit; who: string } | null => {
    const { matched, caller } = state;
    const budget = matched?.budget ?? 'none';
    if (budget === 'none') return null;
    const key = budget === 'log' || isShared(caller.tenant) ? null : caller.key_id;
    if (key !== null) return { limit: limits[caller.kind], who: key };
    const name = budget === 'log' ? 'log' : budget === 'read' ? 'reads' : 'writes';
    return { limit: limits[name], who: networkOf(caller.ip) };
  };
  const underWay = new UnderWay(config.MAX_SESSION_READS);
  const turns = new Turns();
  return {
    async request(ctx, next) {
      const counted = limitOf(ctx);
      if (counted === null) return next();
      const { limit, who } = counted;
      const route = ctx.state.matched?.route;
      // The batch itself was counted as its first line.
      if (ctx.state.line?.first === true) return next();
      await take(ctx, counted, typeof route?.cost === 'number' ? route.cost : 1);
      if (route?.whole === true) return underWay.pass(`${limit.name} ${who}`, ctx, next);
      return next();
    },
    async work(ctx, next) {
      const counted = limitOf(ctx);
      const route = ctx.state.matched?.route;
      if (counted === null || route === undefined || typeof route.cost === 'number') return next();
      const { state } = ctx;
      const cost = Math.floor((await route.cost?.(state)) ?? costOfBytes(state.body_bytes));
      const { limit, who } = counted;
      // A cost over the limit counts as the whole limit: one such request fits in a window, alone.
      const more = Math.min(cost, limit.limiter.points) - 1;
      if (more > 0) {
        await take(ctx, counted, more).catch(async (refused: unknown) => {
          // A refused request is not charged, so that other requests of the caller still succeed.
          await limit.limiter.reward(who, more);
          throw refused;
        });
      }
      return cost < HEAVY_COST ? next() : turns.pass(`${limit.name} ${who}`, ctx, next);
    },
  };
}

/** The cost of reading, checking and hashing a body, for routes that declare none. */
const costOfBytes = (bytes: number): number => 1 + Math.floor(bytes / 65_536);

async function take(
  ctx: RequestContext,
  { limit: { limiter, name, policy }, who }: { readonly limit: Limit; readonly who: string },
  cost: number,
): Promise<void> {
  const taken = await limiter.consume(who, Math.min(cost, limiter.points)).catch(refusal);
  const wait = Math.max(1, Math.ceil(taken.msBeforeNext / 1000));
  ctx.res.setHeader('RateLimit-Policy', policy);
  ctx.res.setHeader('RateLimit', `"${name}";r=${String(taken.remainingPoints)};t=${String(wait)}`);
  if (taken.consumedPoints <= limiter.points) return;
  const headers = { 'Retry-After': String(wait) };
  throw new ApiError('rate_limited', `too many requests: wait ${String(wait)} s`, { headers });
}

/** Runs heavy requests of one caller one after the other. A few may wait; more are refused. */
class Turns {
  readonly #waiting = new Map<string, { count: number; last: Promise<unknown> }>();

  async pass(who: string, { res, state }: RequestContext, next: Next): Promise<unknown> {
    const line = this.#waiting.get(who) ?? { count: 0, last: Promise.resolve() };
    // The lines of a batch wait within it: its size bounds them.
    if (line.count >= MAX_IN_LINE && state.line === null) {
      const message = `${String(MAX_IN_LINE)} heavy requests of this caller are running or waiting`;
      throw new ApiError('rate_limited', message, { headers: { 'Retry-After': '1' } });
    }
    line.count += 1;
    this.#waiting.set(who, line);
    const mine = line.last.then(() => {
      if (!res.destroyed) return next();
      throw new ApiError('rate_limited', 'the client left before its turn');
    });
    line.last = mine.catch(() => undefined);
    try {
      return await mine;
    } finally {
      line.count -= 1;
      if (line.count === 0) this.#waiting.delete(who);
    }
  }
}

/** The running requests with unbounded work, by caller. A rate alone would let one caller run them all at once. */
class UnderWay {
  readonly #most: number;
  readonly #counts = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  async pass(who: string, { res }: RequestContext, next: Next): Promise<void> {
    const count = this.#counts.get(who) ?? 0;
    if (count >= this.#most) {
      const message = `${String(this.#most)} such requests are running already`;
      throw new ApiError('rate_limited', message, { headers: { 'Retry-After': '1' } });
    }
    this.#counts.set(who, count + 1);
    // A handler continues after its client disconnected, and a stream after its handler returned.
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
