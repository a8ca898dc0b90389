// Trust: the keys and the policy that a verifier has in advance, and never takes from a document (log/FORMAT.md §6). At
// the end, the checks of signed notes and cosignatures with them.

import type { Ed25519Jwk } from '../crypto/thumbprint.ts';
import { publicKeyOfJwk, thumbprintBytes } from '../crypto/thumbprint.ts';
import type { Suite } from '../crypto/suite.ts';
import { equal, fromBase64Url } from '../encoding/bytes.ts';
import { LogError } from '../errors.ts';
import type { Policy } from '../note/policy.ts';
import type { ReceiptKey } from '../types.ts';
import { openCheckpoint } from '../note/checkpoint.ts';
import type { Cosigned, OpenedCheckpoint } from '../note/checkpoint.ts';
import { quorumTime } from '../note/policy.ts';

/** A receipt key that the verifier trusts. */
export interface TrustedKey {
  readonly kid: string;
  readonly jwk: Ed25519Jwk;
  /** Default: active. Entries by a retired key stay valid. */
  readonly status?: 'active' | 'retired' | 'revoked';
  /** For a revoked key: the index of the revoking entry. Entries with a smaller index stay valid. */
  readonly revoked_index?: number;
  /** If that index is unknown: a time not after that of the revoking entry. Earlier entries stay valid. */
  readonly revoked_at_ms?: number;
}

/** Everything that a check relies on in addition to SHA-256 and Ed25519. */
export interface Trust {
  readonly origin: string;
  /** The verifier key of the log's checkpoint key. */
  readonly vkey: string;
  /** The verifier key of the log's second checkpoint key (log/FORMAT.md §5.2), if it has one. */
  readonly vkey_ml_dsa?: string;
  /** Refuses checkpoints that the key `vkey_ml_dsa` has not signed. Without it, results say whether it has. */
  readonly require_ml_dsa?: true;
  readonly keys: readonly TrustedKey[];
  /** The verifier keys of the logs of the service by origin. Findings about two logs need that of the other log. */
  readonly logs?: ReadonlyMap<string, string>;
  /** The witnesses, and how many of them must cosign. Absent, or with `quorum none`, no cosignature is required. */
  readonly policy?: Policy;
  /** Declared chain kinds with the number of members in their keys, in addition to those of log/FORMAT.md §3. */
  readonly kinds?: ReadonlyMap<string, number>;
  /** `operator` if keys and policy come from the operator's kit (gateway/API.md §2.5). */
  readonly policy_source?: 'caller' | 'operator';
}

/** The trusted key of a receipt key from a replay or from the list of an open log. */
export function trustedKeyOf({ kid, jwk, status, revoked_index }: ReceiptKey): TrustedKey {
  return { kid, jwk, status, ...(revoked_index === undefined ? {} : { revoked_index }) };
}

/** The greatest accepted difference between the clocks of the log and of a verifier; a constant of format 1. */
export const SKEW_MS = 60_000;

/** Cache of keys whose kid was compared with their thumbprint, because a trust is used for many checks. */
const known = new WeakMap<
  TrustedKey,
  { readonly kid: string; readonly x: unknown; readonly publicKey: Uint8Array }
>();

/**
 * The trusted key with a kid, and its 32 bytes.
 *
 * @throws LogError `key_invalid` if the trust has no such key, or the kid is not its thumbprint; `encoding_invalid` for
 *   a
 *   trusted kid that is not base64url
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
 * Checks that the key of an entry was not revoked before the entry (log/FORMAT.md §2). An entry by a revoked key needs
 * an inclusion proof, because otherwise the stolen key could have signed any index.
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

// Checks of signed notes and their cosignatures. log/FORMAT.md §5, §6.1, §6.3.

/** The cosignatures of a tree head. */
export interface Vouched {
  /** How many witnesses of the policy cosigned in time; 0 without a policy. */
  readonly witnessed: number;
  /** How many monitors of the policy cosigned, which have checked every entry up to this size. */
  readonly map_verified: number;
  /** Milliseconds from the map head to the time at which the quorum was met; null without a policy. */
  readonly lag_ms: number | null;
}

/**
 * Verifies a note of the trusted log, and the cosignatures in it by keys of the policy.
 *
 * @throws LogError `note_invalid`, also if a cosignature by a key of the policy is not valid, or an ML-DSA-44 signature of
 *   the log is required and missing; `key_invalid`
 */
export function openTree(suite: Suite, trust: Trust, note: string): OpenedCheckpoint {
  const { origin, vkey, vkey_ml_dsa } = trust;
  const cosigners = trust.policy?.witnesses.map(({ verifier }) => verifier) ?? [];
  const tree = openCheckpoint(suite, note, { origin, vkey, vkey_ml_dsa, cosigners });
  if (trust.require_ml_dsa === true && !tree.ml_dsa) {
    throw new LogError('note_invalid', 'checkpoint has no ML-DSA-44 signature of its log');
  }
  return tree;
}

/** Whether the log signed these trees with ML-DSA-44 as well, in words after others; empty if it has no such key. */
export function secondWords({ vkey_ml_dsa }: Trust, trees: readonly OpenedCheckpoint[]): string {
  if (vkey_ml_dsa === undefined) return '';
  const all = trees.every(({ ml_dsa }) => ml_dsa);
  return all ? ', signed with ML-DSA-44 too' : ', not signed with ML-DSA-44';
}

/**
 * Counts the cosignatures that were made at `since_ms` or later.
 *
 * @throws LogError `note_invalid` if they do not meet the quorum of the policy
 */
export function checkWitnesses(
  trust: Trust,
  cosignatures: readonly Cosigned[],
  since_ms: number,
): { witnessed: number; map_verified: number; quorum_ms: number | null } {
  const map_verified = cosignatures.filter(({ map }) => map).length;
  const { policy } = trust;
  if (policy === undefined || policy.quorum === null) {
    return { witnessed: 0, map_verified, quorum_ms: null };
  }
  const inTime = cosignatures.filter(({ map, time_s }) => !map && time_s * 1000 >= since_ms);
  const time_s = quorumTime(policy, inTime);
  if (time_s === null) {
    throw new LogError('note_invalid', 'too few witnesses of the policy cosigned in time');
  }
  return { witnessed: inTime.length, map_verified, quorum_ms: time_s * 1000 };
}
