// Permits that another plugin gives: its action is a permit, and an operator of the tenant has called for it. The
// permit is a decision of the gate with the basis `trigger`, and the attempt of its act. gateway/API.md §8.1, §10.6.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import { ApiError } from '../contract/index.ts';
import type { Caller, Draft, GroupOptions, JsonObject, PluginHost } from '../contract/index.ts';
import { asked, gateBody } from './asking.ts';
import type { Asking } from './asking.ts';
import { decisionDrafts } from './drafts.ts';
import { told } from './earlier.ts';
import { gateErrors } from './entries.ts';
import { OtherPolicy, policyInForce } from './policies.ts';
import { actRow, gateRow, isUsable, newestPermitRow, permitRow, policyRow } from './rows.ts';
import type { ActRow, PermitRow, PolicyRow } from './rows.ts';
import { decide } from './rules.ts';

/** The schema of the act that a permit is for: what POST /api/v1/execute-gate takes of it. */
export const permittedAct = (host: PluginHost) =>
  Type.Pick(gateBody(host), [
    ...(['action_type', 'agent_id', 'scope', 'timestamp_ms', 'entity', 'surface'] as const),
    ...(['amount_atomic', 'currency', 'reversibility'] as const),
  ]);

/** What a permit is asked to be. */
export interface PermitOrder {
  /** Its key has the role `operator` or `service`: the asking plugin checks that. */
  readonly caller: Caller;
  readonly act: Static<ReturnType<typeof permittedAct>>;
  readonly session_id?: string | undefined;
  /** The trigger that calls for it. */
  readonly trigger_id: string;
}

/** A permit for a group of the asking plugin. */
export interface GivenPermit {
  /** The decision; its disclosures are the `preimage` and the `use_secret`. */
  readonly draft: Draft;
  /**
   * For the options of the group. It throws ApiError `permit_not_given` or `permit_exists`, and an error that
   * `isPolicyMoved` recognises where another policy is in force than when the permit was prepared: prepare it again.
   */
  readonly check: NonNullable<GroupOptions['check']>;
}

/**
 * Prepares a permit. The policy must allow the act or hold it: the operator behind the trigger does what the human does
 * that releases a hold, and lifts no prohibition.
 *
 * @throws ApiError `parameter_missing`, `parameter_invalid`, and 409 `permit_not_given` where the policy denies the act
 * or does not cover it
 */
export async function givePermit(
  host: PluginHost,
  asking: Asking,
  { caller, act, session_id, trigger_id }: PermitOrder,
): Promise<GivenPermit> {
  const { catalog } = asking;
  const { kind, tenant_ref } = caller;
  const request = { ...act, ...(session_id === undefined ? {} : { session_id }) };
  const question = { request, caller, receipt: undefined, use_secret: undefined };
  const about = await asked(host, asking, question);
  const inForce = policyInForce(host.log(kind), tenant_ref);
  const { outcome, reasons } = told(host, caller, decide(about.act, inForce?.policy ?? null));
  if (outcome === 'DENY' || outcome === 'SILENCE') {
    const message = `the gate answers ${outcome} to this act (${reasons.join(', ')}), and no trigger changes that`;
    throw notGiven(message, { outcome, reasons });
  }
  const toll = host.toll('execute_gate');
  const [draft] = decisionDrafts({
    ...{ asked: about, inForce, catalog, use: null, trigger_id },
    verdict: { outcome: 'PERMIT', reasons: ['trigger_fired'] },
    tolls: { permit: toll, hold: toll },
  });
  if (draft === undefined) throw new Error('a permit has a decision');
  const { action_ref } = about;
  return {
    draft,
    check({ rows, now_ms }) {
      const read = (row: string) => gateRow(rows, row);
      const policy = read(policyRow(tenant_ref)) as PolicyRow | undefined;
      if (policy?.entry_id !== inForce?.entry_id) throw new OtherPolicy(policy);
      const newest = read(newestPermitRow(tenant_ref, action_ref)) as ActRow | undefined;
      const permit_id = newest?.permit_id ?? '';
      const permit = read(permitRow(permit_id)) as PermitRow | undefined;
      if (permit !== undefined && isUsable(read, permit_id, permit, now_ms)) {
        const message = `the permit ${permit_id} for this act is usable`;
        throw new ApiError(gateErrors.permit_exists, message, { members: { permit_id } });
      }
      const standing = read(actRow(tenant_ref, action_ref)) as ActRow | undefined;
      if (standing?.permit_id !== null) return;
      const { refused_ms } = standing;
      if (refused_ms === undefined) throw notGiven('the act is held: release or refuse the hold');
      if (now_ms > refused_ms + catalog.permit_max_age_ms) return;
      throw notGiven('the hold of this act was refused, and the refusal is still its answer');
    },
  };
}

const notGiven = (message: string, members: JsonObject = {}): ApiError =>
  new ApiError(gateErrors.permit_not_given, message, { members });
