// The published keys of all logs as a JWKS. The entries of the log are the authority for receipt keys; this is a copy.
// gateway/API.md §2.1; RFC 7517, RFC 8037, RFC 7638.

import { createPublicKey } from 'node:crypto';
import type { Static } from 'typebox';
import { coseThumbprint, native, publicJwk, toBase64Url } from '../../log/index.ts';
import type { Log, ReceiptKey } from '../../log/index.ts';
import type { Gateway } from '../gateway.ts';
import type { Jwk, PurposeJwk } from './schemas.ts';

/** A key of the JWKS. A key with a `purpose` is not a receipt key. */
export type PublishedJwk = Static<typeof Jwk> | Static<typeof PurposeJwk>;

/**
 * Every receipt key that a served log ever declared, including retired and revoked ones; then the keys of other purposes
 * that are published in the JWKS.
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

/** The keys with which plugins and webhooks sign, each with its purpose and the origin of the newest log of its kind. */
export function purposeKeys({ keys, logs }: Gateway): {
  readonly jwk: Static<typeof PurposeJwk>;
  readonly jwks: boolean;
  readonly cose: boolean;
}[] {
  return keys.all().map((key) => ({
    jwks: key.jwks,
    cose: key.cose,
    jwk: {
      ...key.signer.jwk,
      kid: key.signer.kid,
      use: 'sig',
      alg: key.algorithm === 'ES256' ? 'ES256' : 'EdDSA',
      purpose: key.name,
      origin: logs[key.kind].origin,
    },
  }));
}

/** The keys of COSE messages, each under the name that messages have in label 4: its RFC 9679 thumbprint. */
export const coseKeys = (gateway: Gateway): readonly Static<typeof PurposeJwk>[] =>
  purposeKeys(gateway)
    .filter(({ cose }) => cose)
    .map(({ jwk }) => ({ ...jwk, kid: toBase64Url(coseThumbprint(native, publicJwk(jwk))) }));

/** All served logs: the live ones, then the sandbox ones, each oldest first. */
export function allLogs({ served }: Gateway): readonly Log[] {
  return [...served.live, ...served.sandbox];
}

/** The served logs that have a checkpoint. A log with witnesses has none until they have cosigned the first. */
export const publishedLogs = (gateway: Gateway): readonly Log[] =>
  allLogs(gateway).filter((log) => log.published().size > 0);

/** The key that signs now: the newest active one (log/FORMAT.md §2). */
export function keyInForce(log: Log): ReceiptKey {
  const active = log.receiptKeys().filter(({ status }) => status === 'active');
  const newest = active.reduce<ReceiptKey | undefined>(
    (best, key) => (best === undefined || key.since_index > best.since_index ? key : best),
    undefined,
  );
  if (newest === undefined) throw new Error(`log ${log.origin} has no active receipt key`);
  return newest;
}

/** The key as SubjectPublicKeyInfo in PEM. */
export function spkiPem({ jwk }: ReceiptKey): string {
  const key = createPublicKey({ key: { ...jwk }, format: 'jwk' });
  return key.export({ type: 'spki', format: 'pem' }) as string;
}

/** Converts a time to seconds, as JWKs have it, rounded down. */
export const seconds = (ms: number): number => Math.floor(ms / 1000);

/** The JWK of a receipt key. A key that was retired and later revoked has both times. */
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
