// The draft of a restraint, for the plugin's own routes and for a gate that denies, holds or is silent.
// gateway/API.md §7.7, §8.1.

import { createHash } from 'node:crypto';
import { canonical, isDeclared } from '../contract/index.ts';
import type { Draft, Json, JsonObject } from '../contract/index.ts';
import { RECORD, RECORD_DOES_NOT_ASSERT } from './entries.ts';
import type { Modality } from './entries.ts';

const DOES_NOT_ASSERT: readonly string[] = Object.keys(RECORD_DOES_NOT_ASSERT);

/** Why an act was not done, as the published restraint receipt has it. */
export interface RestraintCause {
  readonly verdict: 'denied' | 'deferred';
  readonly reason_code: 'decision_outcome_not_allow' | 'missing_decision_binding_ref';
  readonly deontic_modality: Modality;
}

/** The cause by outcome of a gate: it forbids what it denies, defers what it holds, and binds to nothing in SILENCE. */
export const CAUSES = {
  DENY: {
    verdict: 'denied',
    reason_code: 'decision_outcome_not_allow',
    deontic_modality: 'FORBIDDEN',
  },
  HOLD: {
    verdict: 'deferred',
    reason_code: 'decision_outcome_not_allow',
    deontic_modality: 'OMISSIBLE',
  },
  SILENCE: {
    verdict: 'denied',
    reason_code: 'missing_decision_binding_ref',
    deontic_modality: 'OMISSIBLE',
  },
} as const satisfies Record<string, RestraintCause>;

/** What a restraint is made of. */
export interface Restraint {
  readonly cause: RestraintCause;
  /** Of the default profile, 64 hex. */
  readonly action_ref: string;
  /** The time in the preimage of `action_ref`. */
  readonly timestamp_ms: number;
  /**
   * The entry type of the decision that it follows from; such an entry precedes it in its group. Then
   * the decision is the attempt, and the restraint has no surface. Without one it is its own decision.
   */
  readonly decision?: string;
  /** Whether a proof of capability is among `private`. */
  readonly evidenced?: boolean;
  readonly session_ref?: string;
  readonly entity?: string;
  readonly surface?: string;
  readonly event_at_ms?: number;
  readonly toll?: Draft['toll'];
  /** What the caller wrote: `action_not_taken`, `decision_reason` and what else there is. */
  readonly private: Readonly<Record<string, Json>>;
}

/** SHA-256 over the canonical form of the five members, hex (restraint-receipt-v1). */
export function restraintReceiptRef(preimage: {
  readonly action_ref: string;
  readonly decision_id: string;
  readonly verdict: string;
  readonly reason_code: string;
  readonly timestamp_ms: number;
}): string {
  const { action_ref, decision_id, verdict, reason_code, timestamp_ms } = preimage;
  const members = { action_ref, decision_id, verdict, reason_code, timestamp_ms };
  return createHash('sha256').update(canonical(members)).digest('hex');
}

/**
 * A restraint, ready to be appended. A gate puts it behind its decision in one group:
 * `[decision, restraintDraft({ cause: CAUSES.DENY, decision: 'gate.decision.v3', … })]`.
 */
export function restraintDraft(restraint: Restraint): Draft {
  const { cause, action_ref, timestamp_ms, decision, entity, surface, session_ref } = restraint;
  const { event_at_ms, toll } = restraint;
  const { verdict, reason_code, deontic_modality } = cause;
  if (decision !== undefined && surface !== undefined) {
    throw new Error('a restraint behind a decision has no surface: one attempt, one link');
  }
  return {
    type: RECORD,
    members({ entry_id, group, surfaces, issued_at_ms }): JsonObject {
      const decision_id =
        decision === undefined
          ? entry_id
          : group.findLast(({ type }) => type === decision)?.entry_id;
      if (decision_id === undefined)
        throw new Error(`no ${String(decision)} precedes it in the group`);
      const preimage = { action_ref, decision_id, verdict, reason_code, timestamp_ms };
      return {
        ...preimage,
        restraint_receipt_ref: restraintReceiptRef(preimage),
        deontic_modality,
        strength: restraint.evidenced === true ? 'evidenced' : 'asserted',
        does_not_assert: DOES_NOT_ASSERT,
        ...(session_ref === undefined ? {} : { session_ref }),
        ...(entity === undefined ? {} : { entity }),
        ...(entity === undefined || surface === undefined
          ? {}
          : { surface, surface_declared: isDeclared(surfaces, entity, surface, issued_at_ms) }),
      };
    },
    private: restraint.private,
    ...(event_at_ms === undefined ? {} : { event_at_ms }),
    ...(toll === undefined ? {} : { toll }),
  };
}
