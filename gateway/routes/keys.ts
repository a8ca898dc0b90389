// The receipt keys of all logs as the world reads them. The log is the authority; this is its copy.
// gateway/API.md §2.1; RFC 7517, RFC 8037, RFC 7638.

import { createPublicKey } from 'node:crypto';
import type { Static } from 'typebox';
import type { Log, ReceiptKey } from '../../log/index.ts';
import type { Gateway } from '../gateway.ts';
import type { Jwk, PurposeJwk } from './schemas.ts';

/** A key of the JWKS. One with a `purpose` is no receipt key, whatever its type. */
export type PublishedJwk = Static<typeof Jwk> | Static<typeof PurposeJwk>;

/**
 * Every receipt key that any served log ever declared, retired and revoked ones for ever; then the keys of other
 * purposes that are published here.
 */
export function jwks(gateway: Gateway): { readonly keys: readonly PublishedJwk[] } {
  const keys = allLogs(gateway).flatMap((log) => log.receiptKeys().map((key) => jwkOf(log, key)));
  return {
    keys: [
      ...keys,
      ...purposeKeys(gateway)
        .filter(({ jwks }) => jwks)
        .map(({ jwk }) => jwk),
    ],
  };
}

/** Keys that plugins sign with, each with its purpose and the log of its kind. */
export function purposeKeys({
  keys,
  logs,
}: Gateway): { readonly jwk: Static<typeof PurposeJwk>; readonly jwks: boolean }[] {
  return keys.all().map(({ name, kind, algorithm, jwks, signer }) => ({
    jwks,
    jwk: {
      ...signer.jwk,
      kid: signer.kid,
      use: 'sig',
      alg: algorithm === 'ES256' ? 'ES256' : 'EdDSA',
      purpose: name,
      origin: logs[kind].origin,
    },
  }));
}

/** All logs that are served, live ones first, oldest first. */
export function allLogs({ served }: Gateway): readonly Log[] {
  return [...served.live, ...served.sandbox];
}

/** Those that have a checkpoint: a log that was made with witnesses has none until they cosigned its first one. */
export const publishedLogs = (gateway: Gateway): readonly Log[] =>
  allLogs(gateway).filter((log) => log.published().size > 0);

/** The key that signs now: of the active ones the newest (log/FORMAT.md §2). */
export function keyInForce(log: Log): ReceiptKey {
  const active = log.receiptKeys().filter(({ status }) => status === 'active');
  const newest = active.reduce<ReceiptKey | undefined>(
    (best, key) => (best === undefined || key.since_index > best.since_index ? key : best),
    undefined,
  );
  if (newest === undefined) throw new Error(`log ${log.origin} has no active receipt key`);
  return newest;
}

/** The key as SubjectPublicKeyInfo, for tools that read PEM. */
export function spkiPem({ jwk }: ReceiptKey): string {
  const key = createPublicKey({ key: { ...jwk }, format: 'jwk' });
  return key.export({ type: 'spki', format: 'pem' }) as string;
}

/** Times of a JWK are seconds, rounded down: an older entry is never taken for a newer one. */
export const seconds = (ms: number): number => Math.floor(ms / 1000);

/** A key may be retired first and revoked later: both times stand. */
function jwkOf(log: Log, key: ReceiptKey): Static<typeof Jwk> {
  const { kty, crv, x } = key.jwk;
  const { kid, since_ms, ended_ms, revoked_ms, revoked_index } = key;
  return {
    kty,
    crv,
    x,
    kid,
    use: 'sig',
    alg: 'EdDSA',
    origin: log.origin,
    nbf: seconds(since_ms),
    ...(ended_ms === undefined ? {} : { exp: seconds(ended_ms) }),
    ...(revoked_ms === undefined ? {} : { revoked_at: seconds(revoked_ms) }),
    ...(revoked_index === undefined ? {} : { revoked_index }),
  };
}
