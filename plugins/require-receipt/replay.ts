// Stores that make a permit valid once. Portable. gateway/API.md §8.1, §8.2.
//
// The store decides, atomically: an id that it forgets too early can be replayed; one that it keeps too long does no
// harm. The store of the log itself uses the permit up at the gate, across processes and restarts, and the log proves it.

import type { Permit } from './permit.ts';

/**
 * Where used permits are remembered. A service of several processes gives one that they share, for example
 * `SET id 1 NX PXAT expires_at_ms` of Redis, or an insert under a unique index.
 */
export interface ReplayStore {
  /**
   * True for the first call with this id and false for every later one, also when calls are concurrent. It may
   * forget the id at `expires_at_ms` (milliseconds of UTC), never before. A throw refuses the act.
   */
  use(id: string, expires_at_ms: number, permit: Permit): boolean | Promise<boolean>;
}

/** A store that needs only the id. */
export interface MemoryReplayStore extends ReplayStore {
  use(id: string, expires_at_ms: number): boolean;
}

/** Beyond any clock's error: the verifier and the store may read different ones. */
const GRACE_MS = 120_000;
const MAX_IDS = 100_000;

/**
 * Remembers in this process, so it is for a service of one process; over a restart a permit may be used again
 * while it lives. When it is full of permits that still live it refuses rather than forgets.
 */
export function memoryReplayStore({
  max = MAX_IDS,
  now = Date.now,
}: { readonly max?: number; readonly now?: () => number } = {}): MemoryReplayStore {
  const used = new Map<string, number>();
  return {
    use(id, expires_at_ms) {
      if (used.has(id)) return false;
      if (used.size >= max) forget(used, now());
      if (used.size >= max) throw new Error(`over ${String(max)} permits are in use`);
      used.set(id, expires_at_ms + GRACE_MS);
      return true;
    },
  };
}

function forget(used: Map<string, number>, now_ms: number): void {
  for (const [id, until] of used) if (until <= now_ms) used.delete(id);
}

/** Which gate uses permits up. */
export interface LogReplayOptions {
  /** Address of the service of the gate's log, such as `https://log.example`. */
  readonly service: string | URL;
  /** An API key of that log, of any tenant: it pays for nothing and says who used the permit. */
  readonly key: string;
  readonly fetch?: typeof fetch;
  readonly timeout_ms?: number;
}

const PATH = '/api/v1/execute-gate/permits/use';
const TIMEOUT_MS = 10_000;

/**
 * Uses permits up at their gate: one request for an act. What is not answered refuses the act, and may have used
 * the permit up.
 *
 * @throws TypeError without a service or a key
 */
export function logReplayStore(options: LogReplayOptions): ReplayStore {
  const { service, key, fetch: ask = fetch, timeout_ms = TIMEOUT_MS } = options;
  // An environment without them is found out at the start, not by permits that cannot be used.
  if (!URL.canParse(PATH, service)) throw new TypeError('service must be the address of a service');
  if (typeof (key as unknown) !== 'string' || !/^[!-~]+$/.test(key)) {
    throw new TypeError('key must be an API key of the service');
  }
  const url = new URL(PATH, service);
  return {
    async use(_id, _expires_at_ms, { entry_id, preimage, use_secret }) {
      const response = await ask(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-API-Key': key },
        body: JSON.stringify({ receipt: entry_id, ...preimage, use_secret }),
        redirect: 'error',
        signal: AbortSignal.timeout(timeout_ms),
      });
      await response.body?.cancel();
      if (response.status === 200) return true;
      if (response.status === 409) return false;
      throw new Error(`the gate answers ${String(response.status)} to the use of a permit`);
    },
  };
}
