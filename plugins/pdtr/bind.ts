// From a bind request to what is logged: the twin, and before it the note that no decision was named.
// gateway/API.md §1.2, §7.2 to §7.5, §9.2.

import { atomicOf, isDeclared, MICRO } from '../contract/index.ts';
import type { Atomic, Draft, Json, JsonObject, LogView } from '../contract/index.ts';
import type { Act, ToldAct } from './act.ts';
import type { Decision } from './decision.ts';
import { NOT_SUPPLIED, TWIN } from './entries.ts';
import type { Payment } from './payment.ts';
import { isContested } from './standing.ts';

/** A bind request after its schema. */
export interface BindRequest extends ToldAct {
  readonly payment_hash?: string;
  readonly payment_response?: string;
  readonly entry_id?: string;
  readonly session_id?: string;
  readonly amount_atomic?: Atomic;
  readonly currency?: string;
  readonly entity?: string | null;
  readonly surface?: string;
  readonly event_at_ms?: number;
}

/** What the catalog lists: other names are the caller's own text. */
export interface Listed {
  readonly rails: ReadonlySet<string>;
  /** Decimals of the currencies; of those that count as cleared, when they do. */
  readonly currencies: ReadonlyMap<
    string,
    { readonly decimals: number; readonly cleared: boolean }
  >;
}

/** What a bind is made of. */
export interface Binding {
  /** With the entity that the act is of. */
  readonly request: Omit<BindRequest, 'entity'> & { readonly entity: string | undefined };
  readonly tenant_ref: string;
  readonly session_ref: string | undefined;
  readonly payment: Payment;
  readonly act: Act;
  readonly listed: Listed;
  /** Logs that were closed before this one. */
  readonly earlier: readonly LogView[];
  readonly toll: NonNullable<Draft['toll']>;
}

/** The group of a bind, for the decision that it rests on. */
export function bindDrafts(binding: Binding, decision: Decision): readonly Draft[] {
  const twin = twinDraft(binding, decision);
  if (decision.source !== 'not_supplied') return [twin];
  const { act, session_ref } = binding;
  const members = {
    outcome: 'NOT_SUPPLIED',
    action_ref: act.action_ref,
    ...(session_ref === undefined ? {} : { session_ref }),
  };
  return [{ type: NOT_SUPPLIED, members }, twin];
}

function twinDraft(binding: Binding, decision: Decision): Draft {
  const { request, tenant_ref, payment, earlier, toll } = binding;
  const { payment_hash } = payment;
  const { entity, event_at_ms } = request;
  // One attempt has one entry with a surface: the decision, where it names one.
  const surface = decision.surface ? undefined : request.surface;
  const cleared = clearedOf(binding);
  const own = { ...ownMembers(binding, decision), ...cleared.members };
  return {
    type: TWIN,
    members({ rows, surfaces, group, issued_at_ms }): JsonObject {
      const entry_id =
        decision.source === 'not_supplied' ? group.at(-1)?.entry_id : decision.entry_id;
      return {
        contested: isContested(rows, earlier, tenant_ref, payment_hash),
        ...own,
        ...(entry_id === undefined ? {} : { decision_entry_id: entry_id }),
        ...(entity === undefined || surface === undefined
          ? {}
          : { surface, surface_declared: isDeclared(surfaces, entity, surface, issued_at_ms) }),
      };
    },
    private: hidden(binding, decision),
    toll: { ...cleared.toll, ...toll },
    ...(event_at_ms === undefined ? {} : { event_at_ms }),
  };
}

/** The members that follow from the request. */
function ownMembers({ request, payment, act, session_ref, listed }: Binding, decision: Decision) {
  const { amount_atomic, currency, settlement_rail, entity } = request;
  const { linked, source, type, outcome } = decision;
  return {
    payment_hash: payment.payment_hash,
    payment_hash_form: payment.form,
    payment_hash_source: payment.settled === undefined ? 'payment_hash' : 'payment_response',
    action_ref: act.action_ref,
    action_ref_verified: act.verified,
    ...(act.profile === null ? {} : { action_ref_profile: act.profile }),
    ...(act.claimed === null ? {} : { action_ref_claimed: act.claimed }),
    settlement_action_ref: act.settlement_action_ref,
    timestamp_ms: act.tuple.timestamp_ms,
    preimage_defaulted: act.defaulted,
    seq: act.tuple.seq,
    terminal: act.tuple.terminal,
    decision_linked: linked,
    decision_source: source,
    ...(type === undefined ? {} : { decision_type: type }),
    ...(outcome === undefined ? {} : { decision_outcome: outcome }),
    settlement_status: 'claimed',
    ...(amount_atomic === undefined ? {} : { amount_atomic: atomicOf(amount_atomic) }),
    ...(currency === undefined
      ? {}
      : { currency: listed.currencies.has(currency) ? currency : 'other' }),
    ...(settlement_rail === undefined
      ? {}
      : { settlement_rail: listed.rails.has(settlement_rail) ? settlement_rail : 'other' }),
    ...(session_ref === undefined ? {} : { session_ref }),
    ...(entity === undefined ? {} : { entity }),
  };
}

/** What the entry only commits to. */
function hidden({ request, payment, act, listed }: Binding, decision: Decision) {
  const { agent_id, action_type, scope, timestamp_ms } = act.tuple;
  const { domain, currency, settlement_rail, entry_id } = request;
  const values: Record<string, Json> = {
    preimage: { action_type, agent_id, scope, timestamp_ms },
  };
  if (domain !== undefined) values['domain'] = domain;
  if (currency !== undefined && !listed.currencies.has(currency)) values['currency'] = currency;
  if (settlement_rail !== undefined && !listed.rails.has(settlement_rail)) {
    values['settlement_rail'] = settlement_rail;
  }
  if (entry_id !== undefined && decision.entry_id === undefined) values['entry_id'] = entry_id;
  if (payment.settled !== undefined) values['settled'] = payment.settled;
  return values;
}

/** What counts as cleared once a payment is at its end: of the toll, or as digits where a toll cannot hold it. */
function clearedOf({ request, act, listed }: Binding): {
  readonly toll?: { readonly cleared_micro_usd: number };
  readonly members?: { readonly large_cleared_micro_usd: string };
} {
  const { amount_atomic, currency } = request;
  if (amount_atomic === undefined || currency === undefined || !act.tuple.terminal) return {};
  const known = listed.currencies.get(currency);
  if (known?.cleared !== true) return {};
  const units = BigInt(amount_atomic) * 10n ** BigInt(MICRO);
  const micro_usd = atomicOf(units / 10n ** BigInt(known.decimals));
  return typeof micro_usd === 'number'
    ? { toll: { cleared_micro_usd: micro_usd } }
    : { members: { large_cleared_micro_usd: micro_usd } };
}
