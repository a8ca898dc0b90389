// The signed note of a tree, and whether enough others have seen it. log/FORMAT.md §5, §6.1, §6.3.

import type { Suite } from '../crypto/suite.ts';
import { LogError } from '../errors.ts';
import { openCheckpoint } from '../note/checkpoint.ts';
import type { Cosigned, OpenedCheckpoint } from '../note/checkpoint.ts';
import { quorumTime } from '../note/quorum.ts';
import type { Trust } from './trust.ts';

/** How far a tree head is vouched for by others than the log. */
export interface Vouched {
  /** Distinct keys of the policy that cosigned in time; 0 without a policy. */
  readonly witnessed: number;
  /** Cosigners named `…/map` among the known ones: monitors that checked every rule up to this size. */
  readonly map_verified: number;
  /** Milliseconds from the map head to the time at which enough had cosigned; null without a policy. */
  readonly lag_ms: number | null;
}

/**
 * Opens the note of the trusted log with the cosigners of the policy.
 *
 * @throws LogError `note_invalid`, also for a bad signature of a known key
 */
export function openTree(suite: Suite, trust: Trust, note: string): OpenedCheckpoint {
  return openCheckpoint(suite, note, {
    origin: trust.origin,
    vkey: trust.vkey,
    cosigners: trust.policy?.witnesses.map(({ verifier }) => verifier) ?? [],
  });
}

/**
 * What the cosignatures with a time of at least `since_ms` come to, counted against the policy.
 *
 * @throws LogError `note_invalid` when the policy has a quorum and they do not meet it
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
