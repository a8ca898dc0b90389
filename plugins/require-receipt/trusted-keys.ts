// The receipt keys of a log from its JWKS, fetched and kept for a while: who verifies permits asks nothing else of
// the service that issued them. Portable. gateway/API.md §2.1; RFC 7517.

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
  /** Told when a JWKS that was fetched has no key of a log, once until it has; `console.warn` unless given. */
  readonly warn?: (message: string) => void;
}

const BRAND = Symbol.for('actlog.LogKeysMissing');

/** The JWKS has keys, and none of the log: no receipt of it can be checked until it has. */
export class LogKeysMissing extends Error {
  override readonly name = 'LogKeysMissing';
  readonly [BRAND] = true;
}

/** Whether a thrown value is a `LogKeysMissing`. */
export const isLogKeysMissing = (thrown: unknown): thrown is LogKeysMissing =>
  thrown instanceof Error && BRAND in thrown;

/** A key that is revoked is known to be so after this time. */
const FRESH_MS = 60_000;
/** How long keys that cannot be fetched again still count: as long as a permit lives. */
const STALE_MS = 900_000;
/** An unknown kid makes us ask again, but no stranger makes us ask more often than this. */
const COOLDOWN_MS = 5_000;
const TIMEOUT_MS = 5_000;
const MAX_KEYS = 10_000;
/** Keys that a message lists, and how much of each name: the document is somebody's. */
const MAX_LISTED = 8;
const MAX_NAME = 128;

/** Reads keys of a source. */
export interface TrustedKeys {
  /**
   * The keys of a log; `kid` is what the receipt names, so that a new key is found at once.
   *
   * @throws Error when there are none that are fresh enough
   * @throws LogKeysMissing when the JWKS has none of the log; it is asked for again after a few seconds
   */
  of(origin: string, kid?: unknown): Promise<LogKeys>;
}

/** The keys of a source. An address is `https:`; `http:` is for this machine only. */
export function trustedKeys(source: KeySource, options: KeyOptions = {}): TrustedKeys {
  if (!(typeof source === 'string' || source instanceof URL)) {
    return { of: async (origin) => keysOfLog(source, origin) };
  }
  const url = new URL(source);
  const here = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && here)) {
    throw new Error(`${url.href} is not an https address`);
  }
  const { fetch: ask, warn = warnOnConsole } = options;
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
  /** Fetches again, or waits for a fetch in flight; at most once per cooldown, whether it succeeded or not. */
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
  const jwks = (): JsonObject => (remote.jwks() ?? { keys: [] }) as unknown as JsonObject;
  /** Logs for which a warning was written. */
  const told = new Set<string>();
  const known = (origin: string): LogKeys => {
    try {
      const found = keysOfLog(jwks(), origin, url.href);
      told.delete(origin);
      return found;
    } catch (error) {
      if (!told.has(origin)) warn((error as Error).message);
      told.add(origin);
      throw error;
    }
  };
  return {
    async of(origin, kid) {
      if (!remote.fresh) {
        const cause = await refetch();
        if (performance.now() - fetched_ms > STALE_MS) {
          throw new Error(`the keys at ${url.href} cannot be fetched`, { cause });
        }
      }
      const { keys } = keysFromJwks(jwks(), origin);
      const wanted = kid === undefined ? keys.length > 0 : keys.some((key) => key.kid === kid);
      if (!wanted) await refetch();
      return known(origin);
    },
  };
}

/**
 * The receipt keys of a log in a JWKS of actlog; `place` is where it comes from.
 *
 * @throws LogKeysMissing when it has none: the message names the log and the keys that are there
 */
export function keysOfLog(jwks: Json, origin: string, place?: string): LogKeys {
  const found = keysFromJwks(jwks, origin);
  if (found.keys.length > 0) return found;
  const listed = listedIn(jwks).map((jwk) => {
    const { kid, origin: of, purpose } = isJsonObject(jwk) ? jwk : {};
    const log = of === undefined ? 'of no log' : `of ${shown(of)}`;
    return `${shown(kid)} ${log}${purpose === undefined ? '' : ` for ${shown(purpose)}`}`;
  });
  const more = listed.length - MAX_LISTED;
  const names = [...listed.slice(0, MAX_LISTED), ...(more > 0 ? [`${String(more)} more`] : [])];
  throw new LogKeysMissing(
    `the JWKS${place === undefined ? '' : ` at ${place}`} has no receipt key of ${origin}, which is pinned: ` +
      (names.length === 0 ? 'it has no key at all' : `its keys are ${names.join(', ')}`),
  );
}

/** The receipt keys of a log in a JWKS of actlog, each with its `origin`; a key with a `purpose` is none. */
export function keysFromJwks(jwks: Json, origin: string): LogKeys {
  const keys: TrustedKey[] = [];
  const ended_ms = new Map<string, number>();
  for (const jwk of listedIn(jwks)) {
    if (!isJsonObject(jwk) || jwk['origin'] !== origin || jwk['purpose'] !== undefined) continue;
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

function listedIn(jwks: Json): readonly Json[] {
  const listed = isJsonObject(jwks) && Array.isArray(jwks['keys']) ? jwks['keys'] : [];
  return (listed as readonly Json[]).slice(0, MAX_KEYS);
}

/** A name of a document as a line of a log may have it. */
const shown = (name: unknown): string =>
  typeof name === 'string' ? JSON.stringify(name.slice(0, MAX_NAME)) : 'without a name';

// The middleware has no other way to an operator who gave it none.
// eslint-disable-next-line no-console -- see above
const warnOnConsole = (message: string): void => console.warn(`actlog/require-receipt: ${message}`);
