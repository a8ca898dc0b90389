// The rules of the gate. gateway/API.md §8.1.
//
// A pure function from an act, the classification of its message and the tenant's policy to an outcome with its reasons.
// Deny outranks hold, and hold outranks allow, in whatever order the rules are written; an act that no rule allows is
// SILENCE. Anything unknown counts against the act.

import type { Atomic } from '../contract/index.ts';
import { spelled } from '../pdtr/index.ts';
import type { Outcome } from './entries.ts';
import type { JUDGED, Policy, Rule } from './policies.ts';

/** An act, as far as rules speak of it. */
export interface Act {
  readonly action_type: string;
  readonly entity?: string;
  readonly surface?: string;
  readonly amount_atomic?: Atomic;
  readonly currency?: string;
  readonly reversibility?: string;
  /** Of its message; NONE without one. */
  readonly classification: (typeof JUDGED)[number];
  /** The classifier did not answer in time: ERROR. */
  readonly late?: boolean;
}

/** What the gate makes of an act. */
export interface Verdict {
  readonly outcome: Outcome;
  /** Codes of catalogs/gate/gate.json, and `rule:<id>`. */
  readonly reasons: readonly string[];
}

/** Of a bind that a fired trigger holds, whatever the policy says. */
export const BIND_HELD: Verdict = { outcome: 'DENY', reasons: ['bind_held'] };

/** Rules that a decision names; a policy may have more that match. */
const MAX_REASONS = 16;

/** Decides; a tenant without a policy has none that covers anything. */
export function decide(act: Act, policy: Policy | null): Verdict {
  const matched = policy === null ? [] : policy.rules.filter((rule) => matches(rule, act));
  const of = (effect: Rule['effect']): string[] =>
    matched.filter((rule) => rule.effect === effect).map(({ id }) => `rule:${id}`);
  const denied = [...refusedMessage(act), ...of('deny')];
  if (denied.length > 0) return verdict('DENY', denied);
  if (act.classification === 'ERROR') {
    return verdict('SILENCE', [act.late === true ? 'message_timeout' : 'message_error']);
  }
  const held = of('hold');
  if (held.length > 0) return verdict('HOLD', held);
  const allowed = of('allow');
  if (allowed.length > 0) return verdict('PERMIT', allowed);
  return verdict('SILENCE', [policy === null ? 'no_policy' : 'no_rule']);
}

const verdict = (outcome: Outcome, reasons: readonly string[]): Verdict => ({
  outcome,
  reasons: reasons.slice(0, MAX_REASONS),
});

function refusedMessage({ classification }: Act): string[] {
  if (classification === 'CRISIS') return ['message_crisis'];
  return classification === 'VIOLATION' ? ['message_violation'] : [];
}

/** Whether an act is one that the policy wants a receipt for, and whose permits count. */
export function requiredReceipt(
  { action_type }: Act,
  policy: Policy | null,
): { readonly issuers: readonly string[] | null } | null {
  const required = policy?.receipt_required?.find((entry) => entry.action_type === action_type);
  if (required === undefined) return null;
  return { issuers: required.issuers?.map((name) => name.slice('tenant:'.length)) ?? null };
}

/**
 * Whether a rule is about an act. A condition on what the act does not say is met for deny and hold, and not met
 * for allow: a request cannot pass a limit by leaving out the amount.
 */
export function matches(rule: Rule, act: Act): boolean {
  const unknown = rule.effect !== 'allow';
  const among = (names: readonly string[] | undefined, value: string | undefined): boolean =>
    names === undefined || (value === undefined ? unknown : names.includes(value));
  return (
    hasType(rule, act.action_type) &&
    among(rule.entities, act.entity) &&
    among(rule.surfaces, act.surface) &&
    among(rule.reversibility, act.reversibility) &&
    among(rule.classification, act.classification) &&
    hasAmount(rule.amount, act, unknown)
  );
}

function hasType({ action_types, action_prefixes }: Rule, type: string): boolean {
  if (action_types === undefined && action_prefixes === undefined) return true;
  if (action_types?.includes(type) === true) return true;
  return action_prefixes?.some((prefix) => type.startsWith(prefix)) === true;
}

function hasAmount(
  amount: Rule['amount'],
  { amount_atomic, currency }: Act,
  unknown: boolean,
): boolean {
  if (amount === undefined) return true;
  if (currency !== undefined && spelled(currency) !== spelled(amount.currency)) return false;
  if (currency === undefined || amount_atomic === undefined) return unknown;
  const { over, at_most } = amount;
  const value = BigInt(amount_atomic);
  return (
    (over === undefined || value > BigInt(over)) &&
    (at_most === undefined || value <= BigInt(at_most))
  );
}
