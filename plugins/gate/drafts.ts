// From an act and its verdict to what is logged: the decision, which is the attempt, and the restraint behind
// whatever is not a permit. One act, one toll. gateway/API.md §8.1, §9.2; log/FORMAT.md §3.

import { isDeclared } from '../contract/index.ts';
import type { Draft, Json, JsonObject } from '../contract/index.ts';
import { CAUSES, restraintDraft } from '../restraint/index.ts';
import { classificationMembers, explanationOf } from './asking.ts';
import type { Asked, GateCatalog } from './asking.ts';
import type { Verdict } from './rules.ts';
import { DECISION } from './entries.ts';
import type { Outcome } from './entries.ts';
import type { PermitUse } from './permit.ts';
import type { InForce } from './policies.ts';
import type { PolicyRow } from './rows.ts';
import { newUseSecret, USE_SECRET } from './secret.ts';

/** Tolls by what comes of an act. */
interface GateTolls {
  readonly permit: NonNullable<Draft['toll']>;
  readonly hold: NonNullable<Draft['toll']>;
}

/** What a decision is made of. */
export interface Deciding {
  readonly asked: Asked;
  readonly verdict: Verdict;
  readonly inForce: InForce | null;
  readonly catalog: GateCatalog;
  readonly tolls: GateTolls;
  /** The use of the receipt that was shown. */
  readonly use: PermitUse | null;
  /** The trigger that gives the permit. */
  readonly trigger_id?: string;
}

/** The group of a decision. */
export function decisionDrafts(deciding: Deciding): readonly Draft[] {
  const { asked, verdict, use } = deciding;
  const decision = decisionDraft(deciding);
  const { outcome, reasons } = verdict;
  if (outcome === 'PERMIT') return use === null ? [decision] : [use.draft, decision];
  const { preimage, act, action_ref, request, session_ref } = asked;
  const { event_at_ms } = request;
  const { entity } = act;
  return [
    decision,
    restraintDraft({
      cause: CAUSES[outcome],
      action_ref,
      timestamp_ms: preimage.timestamp_ms,
      decision: DECISION,
      private: {
        action_not_taken: preimage.action_type,
        decision_reason: reasons.join(', '),
        preimage,
      },
      ...(session_ref === undefined ? {} : { session_ref }),
      ...(entity === undefined ? {} : { entity }),
      ...(event_at_ms === undefined ? {} : { event_at_ms }),
    }),
  ];
}

/** The members that say by which policy a decision was made. */
export function policyMembers(inForce: PolicyRow | null): JsonObject {
  if (inForce === null) return { policy_version: 0 };
  return { policy_version: inForce.version, policy_entry_id: inForce.entry_id };
}

/** Until when a permit that is given now permits; nothing for other outcomes. */
export function expiryMembers(
  outcome: Outcome,
  issued_at_ms: number,
  { permit_max_age_ms }: GateCatalog,
): JsonObject {
  return outcome === 'PERMIT' ? { permit_expires_at_ms: issued_at_ms + permit_max_age_ms } : {};
}

/** What a permit commits to, so that only its holder can use it; nothing for other outcomes. */
export const secretOf = (outcome: Outcome): Readonly<Record<string, Json>> =>
  outcome === 'PERMIT' ? { [USE_SECRET]: newUseSecret() } : {};

function decisionDraft({
  asked,
  verdict,
  inForce,
  catalog,
  tolls,
  use,
  trigger_id,
}: Deciding): Draft {
  const { act, preimage, action_ref, session_ref, request } = asked;
  const { entity, surface, amount_atomic, currency, reversibility } = act;
  const { outcome, reasons } = verdict;
  const { event_at_ms } = request;
  const members: JsonObject = {
    action_ref,
    timestamp_ms: preimage.timestamp_ms,
    basis: trigger_id === undefined ? 'policy' : 'trigger',
    reasons,
    ...policyMembers(inForce),
    ...(amount_atomic === undefined ? {} : { amount_atomic }),
    ...(currency === undefined ? {} : { currency: isListed(asked, catalog) ? currency : 'other' }),
    ...(reversibility === undefined ? {} : { reversibility }),
    ...classificationMembers(asked),
    ...(use === null ? {} : { receipt_permit_id: use.permit.permit_id }),
    ...(trigger_id === undefined ? {} : { trigger_id }),
    ...(session_ref === undefined ? {} : { session_ref }),
    ...(entity === undefined ? {} : { entity }),
  };
  return {
    type: DECISION,
    members: ({ surfaces, issued_at_ms }) => ({
      outcome,
      ...members,
      ...expiryMembers(outcome, issued_at_ms, catalog),
      ...(entity === undefined || surface === undefined
        ? {}
        : { surface, surface_declared: isDeclared(surfaces, entity, surface, issued_at_ms) }),
    }),
    private: hidden(asked, catalog, outcome),
    toll: outcome === 'PERMIT' ? tolls.permit : tolls.hold,
    ...(event_at_ms === undefined ? {} : { event_at_ms }),
  };
}

const isListed = ({ act }: Asked, { currencies }: GateCatalog): boolean =>
  act.currency !== undefined && currencies.has(act.currency);

/** What the entry only commits to. */
function hidden(
  asked: Asked,
  catalog: GateCatalog,
  outcome: Outcome,
): Readonly<Record<string, Json>> {
  const { request, preimage, act, judged } = asked;
  const { message, domain } = request;
  return {
    preimage,
    ...secretOf(outcome),
    ...(act.currency === undefined || isListed(asked, catalog) ? {} : { currency: act.currency }),
    ...(message === undefined ? {} : { message }),
    ...(domain === undefined || message === undefined ? {} : { domain }),
    ...explanationOf(judged),
  };
}
