// The receipt keys of a log from its JWKS, fetched and kept for a while: who verifies permits asks nothing else of
// the service that issued them. Portable. behaviour.md §2.1; RFC 7517.

import { createRemoteJWKSet, customFetch } from 'jose';
import { isJsonObject } from '../../log/verify.ts';
import type { Json, JsonObject, TrustedKey } from '../../log/verify.ts';

/** Where keys come from: an address of a JWKS, or the document itself, which then never changes. */
export type KeySource = string | URL | JsonObject;

/** Keys of one log, and when those that ended did, in milliseconds by kid. */
export interface LogKeys {
  readonly keys: readonly TrustedKey[];
  readonly ended_ms: ReadonlyMap<string, number>;
}

/** How keys are fetched. */
export interface KeyOptions {
  readonly fetch?: typeof fetch;
  readonly timeout_ms?: number;
}

/** A key that is revoked is known to be so after this time. */
const FRESH_MS = 60_000;
/** How long keys that cannot be fetched again still count: as long as a permit lives. */
const STALE_MS = 900_000;
/** An unknown kid makes us ask again, but no stranger makes us ask more often than this. */
const COOLDOWN_MS = 5_000;
const TIMEOUT_MS = 5_000;
const MAX_KEYS = 10_000;

/** Reads keys of a source. */
export interface TrustedKeys {
  /**
   * The keys of a log; `kid` is what the receipt names, so that a new key is found at once.
   *
   * @throws Error when there are none that are fresh enough
   */
  of(origin: string, kid: unknown): Promise<LogKeys>;
}

/** The keys of a source. An address is `https:`; `http:` is for this machine only. */
export function trustedKeys(source: KeySource, options: KeyOptions = {}): TrustedKeys {
  if (!(typeof source === 'string' || source instanceof URL)) {
    return { of: async (origin) => keysFromJwks(source, origin) };
  }
  const url = new URL(source);
  const here = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && here)) {
    throw new Error(`${url.href} is not an https address`);
  }
  const { fetch: ask } = options;
  const remote = createRemoteJWKSet(url, {
    cacheMaxAge: FRESH_MS,
    cooldownDuration: COOLDOWN_MS,
    timeoutDuration: options.timeout_ms ?? TIMEOUT_MS,
    ...(ask === undefined ? {} : { [customFetch]: (address, init) => ask(address, init) }),
  });
  let asked_ms = -Infinity;
  let fetched_ms = -Infinity;
  let trouble: unknown;
  let pending: Promise<void> | null = null;
  /** Asks again, or waits for whoever is asking; not more often than the cooldown, however it went. */
  const refetch = async (): Promise<unknown> => {
    if (pending === null && performance.now() - asked_ms < COOLDOWN_MS) return trouble;
    asked_ms = performance.now();
    pending ??= remote
      .reload()
      .then(
        () => {
          fetched_ms = performance.now();
          trouble = undefined;
        },
        (error: unknown) => {
          trouble = error;
        },
      )
      .finally(() => {
        pending = null;
      });
    await pending;
    return trouble;
  };
  const known = (origin: string): LogKeys =>
    keysFromJwks((remote.jwks() ?? { keys: [] }) as unknown as JsonObject, origin);
  return {
    async of(origin, kid) {
      if (!remote.fresh) {
        const cause = await refetch();
        if (performance.now() - fetched_ms > STALE_MS) {
          throw new Error(`the keys at ${url.href} cannot be fetched`, { cause });
        }
      }
      const found = known(origin);
      if (found.keys.some((key) => key.kid === kid)) return found;
      await refetch();
      return known(origin);
    },
  };
}

/** The Ed25519 keys of a log in a JWKS of actlog, each with its `origin`. */
export function keysFromJwks(jwks: Json, origin: string): LogKeys {
  const listed = isJsonObject(jwks) && Array.isArray(jwks['keys']) ? jwks['keys'] : [];
  const keys: TrustedKey[] = [];
  const ended_ms = new Map<string, number>();
  for (const jwk of (listed as readonly Json[]).slice(0, MAX_KEYS)) {
    if (!isJsonObject(jwk) || jwk['origin'] !== origin) continue;
    const { kid, kty, crv, x, use = 'sig', exp, revoked_at, revoked_index } = jwk;
    if (kty !== 'OKP' || crv !== 'Ed25519' || use !== 'sig') continue;
    if (typeof kid !== 'string' || typeof x !== 'string') continue;
    const revoked = revoked_at !== undefined || revoked_index !== undefined;
    const status = revoked ? 'revoked' : exp === undefined ? 'active' : 'retired';
    keys.push({ kid, jwk: { kty, crv, x }, status });
    // Seconds, rounded down: within the last of them the key may still have signed.
    if (typeof exp === 'number') ended_ms.set(kid, exp * 1000 + 999);
  }
  return { keys, ended_ms };
}
