// Whether the cosignatures of a checkpoint are enough. C2SP tlog-policy; log/FORMAT.md §5, §6.3.

import type { Verifier } from './vkey.ts';

/** A witness or log of a policy, with the address it is reached at, if the policy gives one. */
export interface PolicyKey {
  /** Name inside the policy; that of a log is its origin. */
  readonly name: string;
  readonly verifier: Verifier;
  readonly url?: string;
}

/** One witness, or `threshold` of several members. */
export type Quorum =
  | { readonly witness: PolicyKey }
  | { readonly threshold: number; readonly members: readonly Quorum[] };

/** A parsed policy. */
export interface Policy {
  readonly logs: readonly PolicyKey[];
  /** All of them, also those that no quorum counts, such as `…/map` monitors. */
  readonly witnesses: readonly PolicyKey[];
  /** Null for `quorum none`. */
  readonly quorum: Quorum | null;
}

/** What a cosignature line says of its key; `Cosigned` of checkpoint.ts is one. */
export interface CosignerName {
  readonly name: string;
  readonly key_id: number;
}

/** True when these cosigners, whose signatures the caller has checked, are enough. */
export function countQuorum(policy: Policy, cosigners: readonly CosignerName[]): boolean {
  return policy.quorum === null || isMet(policy.quorum, cosigners);
}

/**
 * The newest time in seconds at or after which enough of the policy cosigned: with k of n, the k-th
 * newest. Null when they are not enough, and for `quorum none`, which has no such time.
 */
export function quorumTime(
  policy: Policy,
  cosignatures: readonly (CosignerName & { readonly time_s: number })[],
): number | null {
  const { quorum } = policy;
  if (quorum === null) return null;
  const times = [...new Set(cosignatures.map(({ time_s }) => time_s))].sort((a, b) => b - a);
  const enough = (time: number): boolean =>
    isMet(
      quorum,
      cosignatures.filter(({ time_s }) => time_s >= time),
    );
  return times.find(enough) ?? null;
}

function isMet(quorum: Quorum, cosigners: readonly CosignerName[]): boolean {
  if ('witness' in quorum) {
    const { name, key_id } = quorum.witness.verifier;
    return cosigners.some((cosigner) => cosigner.name === name && cosigner.key_id === key_id);
  }
  return quorum.members.filter((member) => isMet(member, cosigners)).length >= quorum.threshold;
}
