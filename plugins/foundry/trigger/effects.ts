// What the action of a settlement brings about, and the release that ends a hold. gateway/API.md §10.6.
//
// A settlement states its effect. An effect that is an entry (a notice, a conformity pack, a seal, a permit) stands
// before the settlement in the same group, so that the settlement names it. A seal whose request names no session is
// only recorded; a permit that cannot be given refuses the call, and the trigger stays ARMED.

import { Type } from 'typebox';
import { ApiError, before, EntryId, isApiError, receiptOf, route } from '../../contract/index.ts';
import type {
  ApiErrorCode,
  Caller,
  Draft,
  GroupOptions,
  PluginHost,
  Route,
  SequencePoint,
} from '../../contract/index.ts';
import type { GateApi, PermitOrder } from '../../gate/index.ts';
import type { RestraintApi } from '../../restraint/index.ts';
import { CONFORMITY, packed, standingPack } from '../conformity.ts';
import { foundryErrors, lastEntry } from '../entries.ts';
import { NOTICE, RELEASE, ReleaseMembers, releaseType, triggerAt } from './entries.ts';
import type { Effect } from './entries.ts';
import type { Decision } from './evaluation.ts';

/** The category of a regulatory packet whose request names none. */
const DEFAULT_CATEGORY = 'insurance';

/** The action whose effect is a permit of the gate. */
const PERMIT_ACTION = 'restraint_permit';

/** What a call to fire says for its effect. */
export interface EffectRequest {
  readonly trigger_id: string;
  readonly session_id?: string | undefined;
  readonly category_id?: string | undefined;
  readonly permit?: PermitOrder['act'] | undefined;
}

/** What other plugins do for an effect. */
export interface EffectApis {
  readonly seal: RestraintApi['seal'];
  readonly givePermit: GateApi['givePermit'];
}

/** The drafts of an effect, and the members of the settlement behind them. */
export interface PreparedEffect {
  readonly drafts: readonly Draft[];
  /** What must hold at the sequence point for the drafts to be appended. */
  readonly check?: GroupOptions['check'];
  members(decision: Decision, group: SequencePoint['group']): Effect;
}

/** The effect of a decision that needs no entry of its own. */
export function plainEffect({ action, evaluated, members, ...decision }: Decision): Effect {
  switch (action) {
    case 'bind_hold':
      return { effect: 'bind_held' };
    case 'premium_adjust':
      return {
        effect: 'amount_stated',
        amount_micro_usd: Number(decision.enabled_exposure_micro_usd),
      };
    case 'parametric_window': {
      const to_ms = members['evaluated_at_ms'] as number;
      const { window_s } = decision.trigger.condition;
      const first_ms = Math.min(to_ms, ...evaluated.run_ms);
      const from_ms = window_s === undefined ? first_ms : Math.max(0, to_ms - window_s * 1000);
      return { effect: 'window_stated', window: { from_ms, to_ms } };
    }
    default:
      return { effect: 'recorded' };
  }
}

/**
 * Prepares the effect of a call that is about to fire its trigger.
 *
 * @throws ApiError where the effect is a permit that cannot be given, and for a `permit` that no effect needs
 */
export async function preparedEffect(
  host: PluginHost,
  apis: EffectApis,
  caller: Caller,
  { action, trigger }: Pick<Decision, 'action' | 'trigger'>,
  request: EffectRequest,
): Promise<PreparedEffect> {
  const { trigger_id, session_id, category_id = DEFAULT_CATEGORY } = request;
  const byEntry = (effect: Effect['effect'], type: string, draft: Draft): PreparedEffect => ({
    drafts: [draft],
    members: (_, group) => ({ effect, effect_entry_id: before(group, type)?.entry_id ?? '' }),
  });
  if (action === PERMIT_ACTION) {
    const order = { caller, act: permittedAct(caller, trigger, request), session_id, trigger_id };
    const { draft, check } = await apis.givePermit(order).catch(rethrownWithin('permit'));
    return {
      ...byEntry('permit_given', draft.type, draft),
      check(at) {
        try {
          check(at);
        } catch (error) {
          rethrownWithin('permit')(error);
        }
      },
    };
  }
  if (request.permit !== undefined) {
    const message = `the action ${action} gives no permit; ${PERMIT_ACTION} does`;
    throw new ApiError('parameter_invalid', message, { param: 'permit' });
  }
  if (action === 'notify_underwriter' || action === 'notify_broker') {
    return byEntry('notified', NOTICE, { type: NOTICE, members: { trigger_id, action } });
  }
  if (action === 'regulatory_packet') {
    const session = session_id === undefined ? {} : { session_id };
    const { draft, pack_sha256 } = await packed(host, caller, { category_id, ...session });
    const standing = standingPack(host, caller, pack_sha256);
    if (standing === null) return byEntry('pack_committed', CONFORMITY, draft);
    const members = { effect: 'pack_committed', effect_entry_id: standing } as const;
    return { drafts: [], members: () => members };
  }
  if (action === 'spoliation_pack' && session_id !== undefined) {
    const trigger_event = `trigger ${trigger_id} fired`;
    const draft = await apis.seal(caller, { trigger_event, session_ids: [session_id] });
    return byEntry('seal_made', draft.type, draft);
  }
  return { drafts: [], members: plainEffect };
}

/**
 * The act of a permit: that of the request, within the entity and surface that the publication of the trigger names.
 *
 * @throws ApiError `role_forbidden`, `parameter_missing`, `parameter_invalid`
 */
function permittedAct(
  { role }: Caller,
  { bind_hold: scope = {} }: Decision['trigger'],
  { permit }: EffectRequest,
): PermitOrder['act'] {
  if (role !== 'operator' && role !== 'service') {
    const message = `the action ${PERMIT_ACTION} needs a key of role operator, as the release of a hold does`;
    throw new ApiError('role_forbidden', message);
  }
  if (permit === undefined) {
    const message = `permit is missing: the action ${PERMIT_ACTION} needs the act that is permitted`;
    throw new ApiError('parameter_missing', message, { param: 'permit' });
  }
  const act = { ...scope, ...permit };
  for (const name of ['entity', 'surface'] as const) {
    if (scope[name] === undefined || scope[name] === act[name]) continue;
    const message = `the trigger was published for the ${name} ${scope[name]}`;
    throw new ApiError('parameter_invalid', message, { param: `permit.${name}` });
  }
  return act;
}

/** Rethrows an error about this member of the request, or about a member of it. */
const rethrownWithin =
  (member: string) =>
  (error: unknown): never => {
    if (!isApiError(error)) throw error;
    const { message, members, headers } = error;
    const param = error.param === undefined ? member : `${member}.${error.param}`;
    const options = { param, members, headers, cause: error };
    throw new ApiError(error.code as ApiErrorCode, message, options); // a code that was declared
  };

/** POST /api/v1/foundry/trigger/release. */
export function releaseRoute(host: PluginHost): Route {
  return route({
    method: 'POST',
    path: '/api/v1/foundry/trigger/release',
    tag: 'foundry',
    summary: 'Release the binds that a fired trigger holds',
    description:
      'For a trigger that fired with the action `bind_hold`, and once: execute-gate/bind is then decided by the ' +
      'policy again. Only the tenant that published the trigger releases it. The example needs the trigger_id of a ' +
      'trigger that holds binds.',
    access: 'open',
    idempotent: true,
    body: Type.Object(
      {
        trigger_id: EntryId,
        reason: Type.String({
          minLength: 1,
          maxLength: host.limits.string_chars,
          description: 'Why; the log only commits to it.',
        }),
      },
      { $id: 'TriggerReleaseRequest' },
    ),
    responses: {
      200: {
        description: 'The release.',
        schema: Type.Object(
          { ok: Type.Literal(true), ...ReleaseMembers.properties, receipt: receiptOf(releaseType) },
          { $id: 'TriggerReleased' },
        ),
      },
    },
    errors: ['resource_missing', 'tenant_forbidden', foundryErrors.trigger_released],
    example: {
      trigger_id: '01900000-0000-7000-8000-000000000000',
      reason: 'The model was reviewed',
    },
    async handle(ctx) {
      const { trigger_id, reason } = ctx.state.body;
      const { tenant_ref } = ctx.state.caller;
      const param = 'trigger_id';
      const members = { trigger_id, state: 'RELEASED' };
      await ctx.state.append([{ type: RELEASE, members, private: { reason } }], {
        check({ rows }) {
          const trigger = triggerAt(rows, trigger_id);
          if (trigger === undefined) {
            throw new ApiError('resource_missing', 'no trigger of this log has this id', { param });
          }
          if (trigger.tenant_ref !== tenant_ref) {
            const message = 'only the tenant that published a trigger releases it';
            throw new ApiError('tenant_forbidden', message, { param });
          }
          const bind = trigger.settled?.bind;
          if (bind === 'held') return;
          if (bind === 'released') {
            const message = 'the trigger was released before';
            throw new ApiError(foundryErrors.trigger_released, message, { param });
          }
          throw new ApiError('parameter_invalid', 'the trigger holds no binds', { param });
        },
      });
    },
    respond(entries) {
      const { statement, receipt } = lastEntry(entries);
      const { trigger_id = '', state = '' } = statement;
      return { ok: true, trigger_id, state, receipt };
    },
  });
}
