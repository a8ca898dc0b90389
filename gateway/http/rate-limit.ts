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

/** The limits: a request counts before its body is read, its work once the input is known. */
export interface RateLimits {
  /** Counts a request for 1, or for the number that its route declares; 429 with Retry-After beyond the limit. */
  readonly request: (ctx: RequestContext, next: Next) => Promise<unknown>;
  /** Counts the further cost of the input, and runs heavy work of one caller one request at a time. */
  readonly work: (ctx: RequestContext, next: Next) => Promise<unknown>;
  /** Counts a read of a log by an address; null beyond the limit. */
  readonly logRead: (ip: string) => Promise<CountedRead | null>;
}

/** A read of a log that was counted. */
export interface CountedRead {
  /** The headers that state the limit, by name and value. */
  readonly headers: readonly string[];
  /** Uncounts the read. */
  readonly giveBack: () => Promise<unknown>;
}

const UNCOUNTED: CountedRead = { headers: [], giveBack: () => Promise.resolve() };

/** The limits of the configuration. */
export function rateLimits(config: Config): RateLimits {
  const pass = (_ctx: RequestContext, next: Next): Promise<unknown> => next();
  if (config.RATE_LIMITS === 'off') {
    return { request: pass, work: pass, logRead: () => Promise.resolve(UNCOUNTED) };
  }
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
  const limitOf = ({ state }: RequestContext): Counted | null => {
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
    async logRead(ip) {
      const who = networkOf(ip);
      const { headers, within } = await consume({ limit: limits.log, who }, 1);
      if (!within) return null;
      return { headers: headers.flat(), giveBack: () => limits.log.limiter.reward(who, 1) };
    },
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

interface Counted {
  readonly limit: Limit;
  readonly who: string;
}

async function take(ctx: RequestContext, counted: Counted, cost: number): Promise<void> {
  const { headers, within, wait } = await consume(counted, cost);
  for (const [name, value] of headers) ctx.res.setHeader(name, value);
  if (within) return;
  throw new ApiError('rate_limited', `too many requests: wait ${wait} s`, {
    headers: { 'Retry-After': wait },
  });
}

/** Counts a cost. The headers that state the limit, whether the caller is within it, and the seconds to wait if not. */
async function consume(
  { limit: { limiter, name, policy }, who }: Counted,
  cost: number,
): Promise<{
  readonly headers: readonly (readonly [string, string])[];
  readonly within: boolean;
  readonly wait: string;
}> {
  const taken = await limiter.consume(who, Math.min(cost, limiter.points)).catch(refusal);
  const wait = String(Math.max(1, Math.ceil(taken.msBeforeNext / 1000)));
  return {
    headers: [
      ['RateLimit-Policy', policy],
      ['RateLimit', `"${name}";r=${String(taken.remainingPoints)};t=${wait}`],
    ],
    within: taken.consumedPoints <= limiter.points,
    wait,
  };
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
