// What a verifier knows beforehand and never takes from what it checks (log/FORMAT.md §6).

import type { Ed25519Jwk } from '../crypto/thumbprint.ts';
import { publicKeyOfJwk, thumbprintBytes } from '../crypto/thumbprint.ts';
import type { Suite } from '../crypto/suite.ts';
import { equal, fromBase64Url } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import type { Policy } from '../note/quorum.ts';
import type { ReceiptKey } from '../types.ts';

/** A receipt key as the verifier knows it. */
export interface TrustedKey {
  readonly kid: string;
  readonly jwk: Ed25519Jwk;
  /** Active unless given. A retired key's entries hold as before. */
  readonly status?: 'active' | 'retired' | 'revoked';
  /** Of a revoked key: index of the revoking entry. Only entries below it hold. */
  readonly revoked_index?: number;
  /** Where that index is unknown: a time at or before the revoking entry's. Only earlier entries hold. */
  readonly revoked_at_ms?: number;
}

/** Everything that a check rests on beside SHA-256 and Ed25519. */
export interface Trust {
  readonly origin: string;
  /** Verifier key of the log's checkpoint key. */
  readonly vkey: string;
  readonly keys: readonly TrustedKey[];
  /** Whose cosignatures count and how many are enough; absent or with `quorum none`: no policy. */
  readonly policy?: Policy;
  /** Declared chain kinds and their numbers of members, beside those of log/FORMAT.md §3. */
  readonly kinds?: ReadonlyMap<string, number>;
  /** `operator` when keys and policy come from the operator's own kit (gateway/API.md §2.5). */
  readonly policy_source?: 'caller' | 'operator';
}

/** A key as the log itself declares it: what a replay has read, or the log's own list. */
export function trustedKeyOf({ kid, jwk, status, revoked_index }: ReceiptKey): TrustedKey {
  return { kid, jwk, status, ...(revoked_index === undefined ? {} : { revoked_index }) };
}

/** How far the clocks of the log and of a verifier may be apart; a constant of format 1. */
export const SKEW_MS = 60_000;

/** Keys whose kid was found to be their thumbprint, as they were then: a trust is used for many checks. */
const known = new WeakMap<
  TrustedKey,
  { readonly kid: string; readonly x: unknown; readonly publicKey: Uint8Array }
>();

/**
 * The trusted key of a kid with its 32 bytes.
 *
 * @throws LogError `key_invalid` when it is unknown or no Ed25519 key of that thumbprint; `encoding_invalid` for
 * a trusted kid that is not base64url
 */
export function keyOf(
  suite: Suite,
  trust: Trust,
  kid: string,
): { readonly key: TrustedKey; readonly publicKey: Uint8Array } {
  const key = trust.keys.find((candidate) => candidate.kid === kid);
  if (key === undefined) throw new LogError('key_invalid', 'kid is not a trusted receipt key');
  const { x } = key.jwk;
  const before = known.get(key);
  if (before?.kid === kid && before.x === x) return { key, publicKey: before.publicKey };
  if (!equal(fromBase64Url(kid), thumbprintBytes(suite, key.jwk))) {
    throw new LogError('key_invalid', 'kid is not the thumbprint of its trusted key');
  }
  const publicKey = publicKeyOfJwk(key.jwk);
  known.set(key, { kid, x, publicKey });
  return { key, publicKey };
}

/**
 * A revocation counts from its own index (log/FORMAT.md §2): an entry below it holds when it is included
 * in a tree, since only then its place is sure.
 *
 * @throws LogError `key_invalid`
 */
export function checkInForce(
  key: TrustedKey,
  entry: { readonly index: number; readonly issued_at_ms: number; readonly included: boolean },
): void {
  if (key.status !== 'revoked') return;
  if (!entry.included) {
    throw new LogError('key_invalid', 'key is revoked and the entry has no inclusion proof');
  }
  const { revoked_index, revoked_at_ms } = key;
  const holds =
    revoked_index !== undefined
      ? entry.index < revoked_index
      : revoked_at_ms !== undefined && entry.issued_at_ms < revoked_at_ms;
  if (!holds) throw new LogError('key_invalid', 'key was revoked before the entry');
}
