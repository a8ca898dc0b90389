// Whether a checkpoint is cosigned as a policy asks, and not too long ago. C2SP tlog-policy; log/FORMAT.md §5.

import { countQuorum, LogError, native, openCheckpoint } from '../../log/index.ts';
import type { Policy } from '../../log/index.ts';
import { quorumTime } from '../../log/operate.ts';

/** What is wrong with the cosignatures of a checkpoint. */
export interface Unwitnessed {
  readonly problem: 'no_quorum' | 'too_old' | 'bad_cosignature';
  readonly detail: string;
}

/** The policy and how old its quorum may be. */
export interface Freshness {
  readonly policy: Policy;
  readonly max_age_ms: number;
}

/** Null when all is well, and when the policy says nothing of this log. */
export function judgeCosignatures(
  { policy, max_age_ms }: Freshness,
  log: {
    readonly origin: string;
    readonly vkey: string;
    readonly note: string;
    /** A log that has ended has no newer checkpoint. */
    readonly closed: boolean;
  },
  now_ms: number,
): Unwitnessed | null {
  const { origin, vkey, note, closed } = log;
  if (policy.quorum === null) return null;
  if (policy.logs.length > 0 && !policy.logs.some(({ name }) => name === origin)) return null;
  const cosigners = policy.witnesses.map(({ verifier }) => verifier);
  try {
    const { size, cosignatures } = openCheckpoint(native, note, { origin, vkey, cosigners });
    const of = `the checkpoint of ${String(size)} entries`;
    const time_s = quorumTime(policy, cosignatures);
    if (time_s === null || !countQuorum(policy, cosignatures)) {
      const names = cosignatures.map(({ name }) => name).join(', ') || 'nobody of the policy';
      return { problem: 'no_quorum', detail: `${of} is cosigned by ${names}: no quorum` };
    }
    const age = now_ms - time_s * 1000;
    if (closed || age <= max_age_ms) return null;
    const ages = `${String(age)} ms ago, the limit is ${String(max_age_ms)}`;
    return { problem: 'too_old', detail: `the quorum cosigned ${of} ${ages}` };
  } catch (error) {
    if (!(error instanceof LogError)) throw error;
    return { problem: 'bad_cosignature', detail: error.message };
  }
}
