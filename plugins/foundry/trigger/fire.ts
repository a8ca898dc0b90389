// POST /api/v1/foundry/trigger/fire, and the fee of a settlement. gateway/API.md §10.6, §14, §18.

import { Type } from 'typebox';
import {
  answerWithPlace,
  DecimalInput,
  decimalText,
  EntryId,
  exact,
  exactlyOne,
  exactOf,
  Identifier,
  logOfPlace,
  microUsdOf,
  receiptOf,
  route,
  statementAt,
  usdText,
} from '../../contract/index.ts';
import type {
  AnsweredEntry,
  CarriedPlace,
  Draft,
  Json,
  JsonObject,
  Kind,
  PluginHost,
  Route,
  RowReader,
  SequencePoint,
} from '../../contract/index.ts';
import {
  gateErrors,
  isPolicyMoved,
  permitAnswer,
  permitAnswerMembers,
  permittedAct,
} from '../../gate/index.ts';
import { foundryErrors, lastEntry } from '../entries.ts';
import { withEarlier } from '../oracle/entries.ts';
import { plainEffect, preparedEffect } from './effects.ts';
import type { EffectApis, PreparedEffect } from './effects.ts';
import {
  EffectMembers,
  EVALUATION,
  EvaluationMembers,
  evaluationType,
  SETTLEMENT,
  SettlementMembers,
  settlementType,
} from './entries.ts';
import type { Effect, TriggerRow } from './entries.ts';
import { decide, isRepeated } from './evaluation.ts';
import type { Decision, Firing } from './evaluation.ts';

/** One basis point is a ten thousandth. */
const BPS = 10_000n;

/** The exposure times the basis points, a decimal, rounded down to a micro-USD. */
export function feeOf(exposure_micro_usd: bigint, fee_bps: string): bigint {
  return (exposure_micro_usd * exact(fee_bps)) / (BPS * exact('1'));
}

/** The rate of the clear tier that a tenant's month falls in once the exposure is cleared, in basis points. */
export type ClearRate = (
  rows: RowReader,
  tenant_ref: string,
  at_ms: number,
  exposure_micro_usd: bigint,
) => string;

/** Above every ceiling: what is over a trigger's own is refused where that is known. */
const MOST_MICRO_USD = BigInt(Number.MAX_SAFE_INTEGER);

const { trigger_id: _, state: __, reason, ...evaluation } = EvaluationMembers.properties;

/** A settlement as answers, the feed and the catalog show it. */
export const SettlementShown = Type.Object(
  {
    settlement_entry_id: EntryId,
    action: Identifier,
    ...EffectMembers.properties,
    effect: Type.Optional(EffectMembers.properties.effect),
    enabled_exposure_usd: Type.String(),
    enabled_exposure_micro_usd: Type.Integer(),
    fee_bps: Type.Number(),
    fee_source: SettlementMembers.properties.fee_source,
    fee_usd: Type.String(),
    fee_micro_usd: Type.Integer(),
    fired_at_ms: Type.Integer(),
    verify_url: Type.String({ format: 'uri' }),
  },
  { $id: 'TriggerSettlement' },
);

const FireAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    fired: Type.Boolean(),
    state: Type.Enum(['ARMED', 'FIRED']),
    trigger_id: EntryId,
    evaluation: Type.Object({
      ...evaluation,
      consecutive: Type.Integer(),
      reason: Type.Union([reason, Type.Null()]),
    }),
    settlement: Type.Optional(SettlementShown),
    ...permitAnswerMembers,
    receipt: Type.Union([receiptOf(evaluationType), receiptOf(settlementType)]),
  },
  { $id: 'TriggerFired' },
);

const Text = Type.String({ minLength: 1, maxLength: 256 });

const fireBody = (host: PluginHost) =>
  Type.Object(
    {
      trigger_id: EntryId,
      reading: Type.Optional(
        Type.Object({ metric: Type.String({ maxLength: 256 }), value: DecimalInput }),
      ),
      aggregate_entry_id: Type.Optional(EntryId),
      action: Type.Optional(Type.String({ maxLength: 256 })),
      enabled_exposure_usd: Type.Optional(DecimalInput),
      session_id: Type.Optional({
        ...Text,
        description:
          'Of spoliation_pack, which seals it, of regulatory_packet, which reports on it, and of restraint_permit, ' +
          'whose permit is a decision of it.',
      }),
      category_id: Type.Optional({
        ...Text,
        description:
          'Of regulatory_packet: the category of its conformity pack; insurance unless given.',
      }),
      permit: Type.Optional(
        Type.Object(permittedAct(host).properties, {
          description:
            'Of restraint_permit, which needs it: the act that is permitted, as POST /api/v1/execute-gate takes it.',
        }),
      ),
    },
    {
      $id: 'TriggerFireRequest',
      ...exactlyOne('reading', 'aggregate_entry_id'),
      description:
        'A reading or an aggregate. enabled_exposure_usd replaces the published one, up to the ceiling.',
    },
  );

/** At the sequence point the call comes to something else than when it was made. */
class OtherDecision extends Error {
  readonly decision: Decision;

  constructor(decision: Decision) {
    super('the trigger has moved since');
    this.decision = decision;
  }
}

/** The route that fires triggers. */
export function fireRoute(host: PluginHost, rate: ClearRate, apis: EffectApis): Route {
  return route({
    method: 'POST',
    path: '/api/v1/foundry/trigger/fire',
    tag: 'foundry',
    summary: 'Evaluate a trigger, and fire it where its condition is met',
    description:
      'ARMED to FIRED, once, under any concurrency; firing again answers the same settlement. What does not ' +
      'meet the condition is logged too, and the trigger stays ARMED. An aggregate counts once. The action ' +
      'restraint_permit needs a key of role operator and answers with the permit. The example needs ' +
      'the trigger_id of an answer of POST /signal/trigger/publish.',
    access: 'open',
    idempotent: true,
    body: fireBody(host),
    responses: { 200: { description: 'Fired or not.', schema: FireAnswer } },
    example: {
      trigger_id: '01900000-0000-7000-8000-000000000000',
      reading: { metric: 'incident', value: '1' },
    },
    errors: [
      ...(['resource_missing', 'tenant_forbidden', 'role_forbidden'] as const),
      ...([gateErrors.permit_exists, gateErrors.permit_not_given] as const),
      ...([foundryErrors.oracle_disputed] as const),
      ...([foundryErrors.trigger_already_fired, foundryErrors.trigger_window_closed] as const),
    ],
    async handle(ctx) {
      const { body, caller } = ctx.state;
      const firing = firingOf(body, caller.tenant_ref, host.now());
      try {
        let decision = foreseen(host, caller.kind, firing);
        for (;;) {
          try {
            const expected = decision;
            const fires = expected?.evaluated.fires === true;
            const effect = fires ? await preparedEffect(host, apis, caller, expected, body) : null;
            const draft = firingDraft(host, caller.kind, rate, firing, expected, effect);
            await ctx.state.append([...(effect?.drafts ?? []), draft], {
              check(at) {
                const now = decide(withEarlier(host, caller.kind, at.rows), firing);
                if (now.evaluated.fires !== (expected?.evaluated.fires ?? false)) {
                  throw new OtherDecision(now);
                }
                effect?.check?.(at);
              },
            });
            return;
          } catch (error) {
            if (isPolicyMoved(error)) continue;
            if (!(error instanceof OtherDecision)) throw error;
            ({ decision } = error);
          }
        }
      } catch (error) {
        if (!isRepeated(error)) throw error;
        const permits = hasPermit(host, caller.kind, error.place) ? 1 : 0;
        const index = error.place.index - permits;
        await answerWithPlace(ctx, { ...error.place, index }, permits);
      }
    },
    respond(entries, disclosures) {
      const entry = lastEntry(entries);
      const permit = permitAnswer(entries, disclosures);
      return { ok: true, ...firedOf(entry), ...permit, receipt: entry.receipt };
    },
  });
}

/** Whether the entry at a place is a settlement with a permit, which then is the entry before it. */
function hasPermit(host: PluginHost, kind: Kind, place: CarriedPlace): boolean {
  const log = logOfPlace(host.logs(kind), host.log(kind), place);
  const settlement = log === null ? null : statementAt(log, place.index);
  return settlement?.['effect'] === 'permit_given';
}

function firingOf(
  body: {
    readonly trigger_id: string;
    readonly reading?: { readonly metric: string; readonly value: string | number };
    readonly aggregate_entry_id?: string;
    readonly action?: string;
    readonly enabled_exposure_usd?: string | number;
  },
  tenant_ref: string,
  now_ms: number,
): Firing {
  const { trigger_id, reading, aggregate_entry_id, action, enabled_exposure_usd: usd } = body;
  return {
    ...{ trigger_id, tenant_ref, now_ms },
    ...(reading === undefined
      ? {}
      : {
          reading: {
            metric: reading.metric,
            value: decimalText(exactOf(reading.value, 'reading.value')),
          },
        }),
    ...(aggregate_entry_id === undefined ? {} : { aggregate_entry_id }),
    ...(action === undefined ? {} : { action }),
    ...(usd === undefined
      ? {}
      : {
          enabled_exposure_micro_usd: microUsdOf(usd, 'enabled_exposure_usd', MOST_MICRO_USD),
        }),
  };
}

/**
 * What the call comes to by the rows on disk; null if it repeats an earlier call. That is for the sequence point
 * to say: a row may be on disk a moment before its entry is acknowledged.
 */
function foreseen(host: PluginHost, kind: Kind, firing: Firing): Decision | null {
  const log = host.log(kind);
  const rows: RowReader = { get: (key) => log.row(key.slice('foundry/'.length)) };
  try {
    return decide(withEarlier(host, kind, rows), firing);
  } catch (error) {
    if (isRepeated(error)) return null;
    throw error;
  }
}

/** What a call leaves in the log; it is decided again at its own point. */
function firingDraft(
  host: PluginHost,
  kind: Kind,
  rate: ClearRate,
  firing: Firing,
  decision: Decision | null,
  effect: PreparedEffect | null,
): Draft {
  const decided = (rows: RowReader): Decision => decide(withEarlier(host, kind, rows), firing);
  if (decision?.evaluated.fires !== true) {
    return {
      type: EVALUATION,
      members({ rows }) {
        const { members, evaluated } = decided(rows);
        return { ...members, state: 'ARMED', reason: evaluated.reason };
      },
    };
  }
  const members = ({ rows, issued_at_ms, group }: SequencePoint): JsonObject => {
    const { tenant_ref } = firing;
    const now = decided(rows);
    const tierBps = (exposure: bigint) => rate(rows, tenant_ref, issued_at_ms, exposure);
    return settled(now, tierBps, effect?.members(now, group));
  };
  return { type: SETTLEMENT, members, toll: settlementToll(host, decision) };
}

/** Where the clear tier's rate applies, the exposure counts as cleared; the fee is then the clear layer's. */
export function settlementToll(
  host: PluginHost,
  {
    trigger,
    enabled_exposure_micro_usd,
  }: Pick<Decision, 'enabled_exposure_micro_usd'> & {
    readonly trigger: Pick<TriggerRow, 'fee_bps'>;
  },
): NonNullable<Draft['toll']> {
  const toll = host.toll('bps_fire');
  if (trigger.fee_bps !== null) return toll;
  return { ...toll, cleared_micro_usd: Number(enabled_exposure_micro_usd) };
}

/** The members of a settlement; `tierBps` is called only where the obligation names no rate. */
export function settled(
  decision: Decision,
  tierBps: (exposure_micro_usd: bigint) => string,
  effect: Effect = plainEffect(decision),
): JsonObject {
  const { trigger, members, action, enabled_exposure_micro_usd: exposure } = decision;
  const fee_bps = trigger.fee_bps ?? tierBps(exposure);
  const fee_micro_usd = Number(feeOf(exposure, fee_bps));
  return {
    ...members,
    state: 'FIRED',
    template_id: trigger.template_id,
    action,
    enabled_exposure_micro_usd: Number(exposure),
    fee_bps,
    fee_source: trigger.fee_bps === null ? 'clear_tier' : 'obligation',
    fee_micro_usd,
    // Of an exposure that counts as cleared the meter takes the fee itself.
    owed_fee_micro_usd: trigger.fee_bps === null ? 0 : fee_micro_usd,
    ...effect,
  };
}

/** An evaluation's or settlement's entry as its answer shows it. */
function firedOf(entry: AnsweredEntry): JsonObject {
  const { statement } = entry;
  const { state = '', trigger_id = '', reason = null } = statement;
  const { consecutive } = statement['condition'] as { readonly consecutive: number };
  const own = Object.keys(evaluation).filter((name) => statement[name] !== undefined);
  const shown = Object.fromEntries(own.map((name) => [name, statement[name] ?? null]));
  const fired = state === 'FIRED';
  return {
    ...{ fired, state, trigger_id },
    evaluation: { ...shown, consecutive, reason },
    ...(fired ? { settlement: settlementShown(entry) } : {}),
  };
}

const EFFECT_NAMES = Object.keys(EffectMembers.properties);

/** A member that the statement has; settlements of earlier releases name no effect. */
function shownMember(statement: JsonObject, name: string): [string, Json][] {
  const value = statement[name];
  return value === undefined ? [] : [[name, value]];
}

/** A settlement as answers and the catalog show it. */
export function settlementShown({
  statement,
  entry_id,
  issued_at_ms,
  receipt,
}: AnsweredEntry): JsonObject {
  const { action = '', fee_bps, fee_source = '' } = statement;
  const exposure = statement['enabled_exposure_micro_usd'] as number;
  const fee = statement['fee_micro_usd'] as number;
  return {
    settlement_entry_id: entry_id,
    action,
    ...Object.fromEntries(EFFECT_NAMES.flatMap((name) => shownMember(statement, name))),
    enabled_exposure_usd: usdText(BigInt(exposure)),
    enabled_exposure_micro_usd: exposure,
    fee_bps: Number(fee_bps),
    fee_source,
    fee_usd: usdText(BigInt(fee)),
    fee_micro_usd: fee,
    fired_at_ms: issued_at_ms,
    verify_url: receipt.verify_url,
  };
}
