// The act that a payment is bound to: the members that the caller gave, the defaults of the others, and whether the
// action_ref it claims is right. gateway/API.md §7.1, §7.2.

import { ApiError } from '../contract/index.ts';
import type { Caller, JsonObject } from '../contract/index.ts';
import {
  actionRefs,
  CLAIM,
  defaultActionRef,
  profileOf,
  settlementActionRef,
} from './action-ref.ts';
import type { ActionTuple, Profile } from './action-ref.ts';
import { DEFAULTED, pdtrErrors } from './entries.ts';

/** The members of a bind request that say which act it was. */
export interface ToldAct {
  readonly action_ref?: string;
  readonly action_type?: string;
  readonly agent_id?: string;
  readonly scope?: string;
  readonly timestamp_ms?: number;
  readonly seq?: number;
  readonly terminal?: boolean;
  readonly domain?: string;
  readonly settlement_rail?: string;
}

/** An act with every member, and its action_ref. */
export interface Act {
  readonly tuple: ActionTuple;
  readonly defaulted: readonly (typeof DEFAULTED)[number][];
  /** Of the default profile: the one that names the chain. */
  readonly action_ref: string;
  readonly settlement_action_ref: string;
  readonly claimed: string | null;
  /** By which profile the claim is right. */
  readonly profile: Profile | null;
  readonly verified: boolean;
}

/** The tuple of a request; what it does not say is by default. */
function tupleOf(told: ToldAct, caller: Pick<Caller, 'tenant' | 'key_id'>, now_ms: number) {
  return {
    agent_id: told.agent_id ?? (caller.key_id === null ? 'anonymous' : caller.tenant),
    action_type: told.action_type ?? 'payment.settle',
    scope: told.scope ?? told.domain ?? told.settlement_rail ?? 'x402',
    timestamp_ms: told.timestamp_ms ?? now_ms,
    seq: told.seq ?? 0,
    terminal: told.terminal ?? true,
  } satisfies ActionTuple;
}

/**
 * The act of a request.
 *
 * @throws ApiError `action_ref_mismatch` if the request gives the whole act and no profile yields the claimed value
 */
export function actOf(told: ToldAct, caller: Caller, now_ms: number): Act {
  const tuple = tupleOf(told, caller, now_ms);
  const defaulted = DEFAULTED.filter((name) => told[name] === undefined);
  const claimed = told.action_ref ?? null;
  const computed = defaultActionRef(tuple);
  const settlement_action_ref = settlementActionRef(tuple);
  const act = (action_ref: string, profile: Profile | null, verified: boolean): Act => {
    return { tuple, defaulted, action_ref, settlement_action_ref, claimed, profile, verified };
  };
  if (claimed === null) return act(computed, null, true);
  const refs = actionRefs(tuple);
  const profile = profileOf(claimed, refs);
  if (profile !== null) return act(computed, profile, true);
  if (defaulted.length === 0) {
    const values = Object.entries(refs)
      .filter(([, ref]) => ref !== null)
      .map(([name, ref]) => `${name} ${String(ref)}`);
    throw new ApiError(
      pdtrErrors.action_ref_mismatch,
      `action_ref is that of no profile; recomputed: ${values.join(', ')}`,
      { param: 'action_ref', members: { computed: refs } },
    );
  }
  if (!CLAIM.test(claimed)) {
    throw new ApiError('parameter_invalid', 'action_ref is of no profile', { param: 'action_ref' });
  }
  // Without the whole act the claim cannot be recomputed. A bare digest is taken for that of the default profile.
  const kept = /^[0-9a-f]{64}$/.test(claimed) ? claimed : computed;
  return act(kept, null, false);
}

/**
 * The preimage behind an entry's action_ref, from the request alone: the defaults follow from it and from the
 * time that the entry has. Null where they do not lead to that action_ref.
 */
export function preimageBehind(
  told: ToldAct,
  caller: Pick<Caller, 'tenant' | 'key_id'>,
  { timestamp_ms, action_ref }: { readonly timestamp_ms: number; readonly action_ref: string },
): JsonObject | null {
  const tuple = tupleOf(told, caller, timestamp_ms);
  if (defaultActionRef(tuple) !== action_ref) return null;
  const { agent_id, action_type, scope } = tuple;
  return { action_type, agent_id, scope, timestamp_ms: tuple.timestamp_ms };
}
