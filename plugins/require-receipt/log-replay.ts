// A replay store that is the log itself: the gate uses the permit up, so that it is used once in the whole world,
// over processes and restarts, and its chain proves it. Portable. gateway/API.md §8.1, §8.2.

import type { ReplayStore } from './replay.ts';

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
    async use(_id, _expires_at_ms, { entry_id, preimage }) {
      const response = await ask(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-API-Key': key },
        body: JSON.stringify({ receipt: entry_id, ...preimage }),
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
