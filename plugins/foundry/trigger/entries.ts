// The entries of obligations: a trigger that is ARMED, each evaluation that leaves it so, the settlement that makes it
// FIRED, which is final, with its effect, and the release of a hold; and the condition that they evaluate. gateway/API.md §10.6, §11; log/FORMAT.md §3
// (trigger_id).

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  asSchema,
  DecimalText,
  EntityName,
  EntryId,
  exact,
  Identifier,
  Millis,
  Nullable,
  sentenceOf,
  shortName,
  SurfaceName,
  usdOf,
} from '../../contract/index.ts';
import type {
  CarriedPlace,
  EntryType,
  EventRule,
  Json,
  JsonObject,
  RowReader,
  RowWriter,
  Sequenced,
} from '../../contract/index.ts';
import { count, tenantOf } from '../entries.ts';

/** How a value is held against the threshold. */
export const COMPARATORS = ['gt', 'gte', 'lt', 'lte', 'eq'] as const;

/** A condition as its entry has it. */
export interface Condition {
  readonly metric: string;
  readonly comparator: (typeof COMPARATORS)[number];
  /** A decimal. */
  readonly threshold: string;
  /** All that counts lies within these seconds, the newest observation's own age included. */
  readonly window_s?: number;
  /** How many observations in a row must meet the threshold; 1 is one. */
  readonly consecutive: number;
}

/** Why a trigger stays ARMED. */
const UNMET = [
  'threshold_not_met',
  'consecutive_not_reached',
  'outside_window',
  'no_consensus',
] as const;

/** One of the reasons. */
type Unmet = (typeof UNMET)[number];

/** What was observed, and when. */
export interface Observed {
  /** A decimal; null where the sources did not agree on one. */
  readonly value: string | null;
  readonly observed_at_ms: number;
}

/** The run after an observation, from the run before it. */
export interface Evaluated {
  readonly met: boolean;
  readonly reason: Unmet | null;
  /** Times of the observations in a row that met the threshold, this one last; at most `consecutive`. */
  readonly run_ms: readonly number[];
  readonly fires: boolean;
}

/** Holds a value against the threshold. */
export function meets({ comparator, threshold }: Condition, value: string): boolean {
  const [left, right] = [exact(value), exact(threshold)];
  switch (comparator) {
    case 'gt':
      return left > right;
    case 'gte':
      return left >= right;
    case 'lt':
      return left < right;
    case 'lte':
      return left <= right;
    case 'eq':
      return left === right;
  }
}

/** Evaluates an observation at `now_ms`; what is outside the window is no observation, and breaks no run. */
export function evaluate(
  condition: Condition,
  { value, observed_at_ms }: Observed,
  run_ms: readonly number[],
  now_ms: number,
): Evaluated {
  const { window_s, consecutive } = condition;
  const window_ms = window_s === undefined ? Infinity : window_s * 1000;
  if (now_ms - observed_at_ms > window_ms) {
    return { met: false, reason: 'outside_window', run_ms, fires: false };
  }
  if (value === null) return { met: false, reason: 'no_consensus', run_ms: [], fires: false };
  if (!meets(condition, value)) {
    return { met: false, reason: 'threshold_not_met', run_ms: [], fires: false };
  }
  const run = runWith(run_ms, observed_at_ms);
  const newest = run.at(-1) ?? observed_at_ms;
  const kept = run.filter((ms) => newest - ms <= window_ms).slice(-consecutive);
  const fires = kept.length >= consecutive;
  return { met: true, reason: fires ? null : 'consecutive_not_reached', run_ms: kept, fires };
}

/** A run with one more observation, by time; what falls out of it is always the oldest. */
function runWith(run_ms: readonly number[], observed_at_ms: number): number[] {
  return [...run_ms, observed_at_ms].sort((a, b) => a - b);
}

/** Identifier of the entry type of a trigger that is published. */
export const TRIGGER = 'foundry.trigger.v2';
/** Identifier of the entry type of an evaluation that did not fire. */
export const EVALUATION = 'foundry.evaluation.v1';
/** Identifier of the entry type that tells somebody of a trigger that fires. */
export const NOTICE = 'foundry.notice.v1';
/** Identifier of the entry type that ends the effect of a trigger that fired. */
export const RELEASE = 'foundry.release.v1';
/** Identifier of the entry type of a trigger that fired. */
export const SETTLEMENT = 'foundry.settlement.v3';

const MicroUsd = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Run = Type.Integer({ minimum: 0, maximum: 1000 });

/** A condition in a statement. */
export const ConditionMembers = Type.Object(
  {
    metric: Identifier,
    comparator: Type.Enum([...COMPARATORS]),
    threshold: DecimalText,
    window_s: Type.Optional(Type.Integer({ minimum: 1, maximum: 31_536_000 })),
    consecutive: Type.Integer({ minimum: 1, maximum: 1000 }),
  },
  { additionalProperties: false },
);

/** Which binds a fired trigger with the action `bind_hold` holds; every bind of the tenant unless it names fewer. */
export const BindScope = Type.Object(
  { entity: Type.Optional(EntityName), surface: Type.Optional(SurfaceName) },
  { additionalProperties: false },
);

const triggerMembers = {
  trigger_id: EntryId,
  template_id: Identifier,
  state: Type.Literal('ARMED'),
  condition: ConditionMembers,
  default_action: Identifier,
  callable_actions: Type.Array(Identifier),
  exposure_ceiling_micro_usd: MicroUsd,
  enabled_exposure_micro_usd: MicroUsd,
  fee_bps: Nullable({ ...DecimalText, description: 'Null: the rate of the clear tier.' }),
  regulatory_hooks: Type.Array(Identifier),
  feed_id: Type.Optional(Identifier),
  expires_at_ms: Type.Optional(Millis),
};

/** What a trigger says: its terms are those of this entry, whatever a catalog says later. */
const TriggerMembers = Type.Object(
  { ...triggerMembers, bind_hold: Type.Optional(BindScope) },
  { additionalProperties: false },
);

const evaluated = {
  trigger_id: EntryId,
  basis: Type.Enum(['reading', 'aggregate']),
  aggregate_entry_id: Type.Optional(EntryId),
  /** Stands where the aggregate was disputed and resolved. */
  resolved: Type.Optional(Type.Boolean()),
  condition: ConditionMembers,
  value: Nullable(DecimalText),
  observed_at_ms: Millis,
  evaluated_at_ms: Millis,
  met: Type.Boolean(),
  run_length: { ...Run, description: 'Observations in a row that met the threshold.' },
};

/** What an evaluation says. */
export const EvaluationMembers = Type.Object(
  { ...evaluated, state: Type.Literal('ARMED'), reason: Type.Enum([...UNMET]) },
  { additionalProperties: false },
);

/** What a settlement of `foundry.settlement.v2` brought about. */
const EARLIER_EFFECTS = [
  'bind_held',
  'notified',
  'pack_committed',
  'seal_made',
  'amount_stated',
  'window_stated',
  'recorded',
] as const;

/** What a settlement brought about. */
const EFFECTS = [...EARLIER_EFFECTS, 'permit_given'] as const;

const effectMembers = <E extends string>(effects: readonly E[]) => ({
  effect: {
    ...Type.Enum([...effects]),
    description: '`recorded`: the settlement names the action, and nothing else follows from it.',
  },
  effect_entry_id: Type.Optional({
    ...EntryId,
    description: 'The notice, the conformity pack, the seal or the permit.',
  }),
  amount_micro_usd: Type.Optional({
    ...MicroUsd,
    description: 'Of `premium_adjust`: the exposure that the premium is to follow.',
  }),
  window: Type.Optional(
    Type.Object(
      { from_ms: Millis, to_ms: Millis },
      {
        additionalProperties: false,
        description: 'Of `parametric_window`: the time of the observations that fired.',
      },
    ),
  ),
});

/** The members of a settlement that say what its action brought about. */
export const EffectMembers = Type.Object(effectMembers(EFFECTS));

/** The effect of a settlement. */
export type Effect = Static<typeof EffectMembers>;

const settled = {
  ...evaluated,
  state: Type.Literal('FIRED'),
  template_id: Identifier,
  action: Identifier,
  enabled_exposure_micro_usd: MicroUsd,
  fee_bps: DecimalText,
  fee_source: Type.Enum(['obligation', 'clear_tier']),
  fee_micro_usd: MicroUsd,
};

const settlementMembers = <E extends string>(effects: readonly E[]) =>
  Type.Object(
    {
      ...settled,
      owed_fee_micro_usd: {
        ...MicroUsd,
        description:
          'What the meter adds to the fees of the month: the fee, or 0 where the exposure counts as cleared.',
      },
      ...effectMembers(effects),
    },
    { additionalProperties: false },
  );

/** What a settlement says. */
export const SettlementMembers = settlementMembers(EFFECTS);

const NoticeMembers = Type.Object(
  {
    trigger_id: EntryId,
    action: Type.Enum(['notify_underwriter', 'notify_broker']),
  },
  { additionalProperties: false },
);

/** What a release says; its reason is a commitment. */
export const ReleaseMembers = Type.Object(
  { trigger_id: EntryId, state: Type.Literal('RELEASED') },
  { additionalProperties: false },
);

/** A trigger, as its row has it; the place is that of the entry that armed it. */
export interface TriggerRow extends CarriedPlace {
  readonly tenant_ref: string;
  readonly template_id: string;
  readonly condition: Condition;
  readonly default_action: string;
  readonly callable_actions: readonly string[];
  readonly exposure_ceiling_micro_usd: number;
  readonly enabled_exposure_micro_usd: number;
  readonly fee_bps: string | null;
  readonly feed_id?: string;
  readonly expires_at_ms?: number;
  /** Times of the observations in a row that met the threshold. */
  readonly run_ms: readonly number[];
  /** The newest aggregate that was evaluated, and where. */
  readonly newest: (CarriedPlace & { readonly aggregate: string; readonly at: number }) | null;
  /** Once it fired: the settlement's index, action and exposure. */
  readonly settled:
    | (CarriedPlace & {
        readonly action: string;
        readonly enabled_exposure_micro_usd: number;
        /** Present where the settlement holds binds, or held them. */
        readonly bind?: 'held' | 'released';
      })
    | null;
  readonly bind_hold?: BindScope;
}

/** Which binds are held. */
export type BindScope = Static<typeof BindScope>;

/** Stands in the key of a row of held binds for any entity, or any surface. */
const ANY = '*';

/** Row that counts the held binds of a tenant with this entity and surface; empty where a hold names none. */
const bindRow = (tenant_ref: string, entity: string, surface: string): string =>
  `foundry/bind/${tenant_ref}/${JSON.stringify([entity, surface])}`;

/** Counts a hold in, or out, under what it names and under `ANY`. */
export function holdBinds(
  rows: RowWriter,
  tenant_ref: string,
  { entity = '', surface = '' }: BindScope,
  change: 1 | -1,
): void {
  for (const e of [entity, ANY]) {
    for (const s of [surface, ANY]) {
      const key = bindRow(tenant_ref, e, s);
      const open = Number(rows.get(key) ?? 0) + change;
      if (open > 0) rows.put(key, open);
      else rows.del(key);
    }
  }
}

/** Whether a bind is held. An act that does not name its entity or surface is held by a hold on any. */
export function isBindHeld(
  rows: RowReader,
  tenant_ref: string,
  { entity, surface }: BindScope,
): boolean {
  const entities = entity === undefined ? [ANY] : ['', entity];
  const surfaces = surface === undefined ? [ANY] : ['', surface];
  return entities.some((e) =>
    surfaces.some((s) => rows.get(bindRow(tenant_ref, e, s)) !== undefined),
  );
}

/** Row of a trigger. */
export const triggerRow = (trigger_id: string): string => `foundry/trigger/${trigger_id}`;
/** Prefix of the rows of the feed, as the plugin reads it; what follows is an index of 16 digits. */
export const EVENTS = 'event/';
/** Row of the newest settlements, as the plugin reads it: indexes, newest first. */
export const NEWEST_SETTLEMENTS = 'settlements';
/** How many of them. */
export const KEPT_SETTLEMENTS = 10;

/** The row of a trigger; undefined where there is none. */
export function triggerAt(rows: RowReader, trigger_id: string): TriggerRow | undefined {
  return rows.get(triggerRow(trigger_id)) as unknown as TriggerRow | undefined;
}

const eventRow = (index: number): string => `foundry/${EVENTS}${String(index).padStart(16, '0')}`;

function projectTrigger(entry: Sequenced, rows: RowWriter): void {
  const { index, statement } = entry;
  const { template_id, condition, default_action, callable_actions, fee_bps } = statement;
  const { exposure_ceiling_micro_usd, enabled_exposure_micro_usd } = statement;
  const { feed_id, expires_at_ms, bind_hold } = statement;
  const terms = { template_id, condition, default_action, callable_actions, fee_bps };
  const row = {
    ...{ tenant_ref: tenantOf(statement), index, ...terms },
    ...{ exposure_ceiling_micro_usd, enabled_exposure_micro_usd },
    ...(feed_id === undefined ? {} : { feed_id }),
    ...(expires_at_ms === undefined ? {} : { expires_at_ms }),
    ...(bind_hold === undefined ? {} : { bind_hold }),
    ...{ run_ms: [], newest: null, settled: null },
  };
  rows.put(triggerRow(statement['trigger_id'] as string), row as JsonObject);
  rows.put(eventRow(index), 'trigger.armed');
  count(entry, rows, { triggers_armed: 1 });
}

/** The newest aggregate and the run of observations, after this entry. */
function observed(row: TriggerRow, { index, statement }: Sequenced, rows: RowReader) {
  const { aggregate_entry_id: aggregate, observed_at_ms, met, reason } = statement;
  const length = statement['run_length'] as number;
  const run = met === true ? runWith(row.run_ms, observed_at_ms as number).slice(-length) : [];
  const newest =
    typeof aggregate === 'string'
      ? { aggregate, at: aggregateIndex(rows, aggregate), index }
      : row.newest;
  return { run_ms: reason === 'outside_window' ? row.run_ms : run, newest };
}

/** Index of an aggregate; -1 if it is in an earlier, closed log. */
function aggregateIndex(rows: RowReader, entry_id: string): number {
  const row = rows.get(`foundry/aggregate/${entry_id}`) as CarriedPlace | undefined;
  return row === undefined || row.log_number !== undefined ? -1 : row.index;
}

function projectEvaluation(entry: Sequenced, rows: RowWriter): void {
  const trigger_id = entry.statement['trigger_id'] as string;
  const row = triggerAt(rows, trigger_id);
  if (row !== undefined) {
    const after = { ...row, ...observed(row, entry, rows) };
    rows.put(triggerRow(trigger_id), after as unknown as Json);
  }
  count(entry, rows, { evaluations: 1 });
}

function projectSettlement(entry: Sequenced, rows: RowWriter): void {
  const { index, statement } = entry;
  const trigger_id = statement['trigger_id'] as string;
  const row = triggerAt(rows, trigger_id);
  if (row !== undefined) {
    const { action, enabled_exposure_micro_usd, effect } = statement;
    const bind = effect === 'bind_held' ? { bind: 'held' } : {};
    const settled = { index, action, enabled_exposure_micro_usd, ...bind };
    if (effect === 'bind_held') holdBinds(rows, tenantOf(statement), row.bind_hold ?? {}, 1);
    const after = { ...row, ...observed(row, entry, rows), settled };
    rows.put(triggerRow(trigger_id), after as unknown as Json);
  }
  const key = `foundry/${NEWEST_SETTLEMENTS}`;
  const before = (rows.get(key) ?? []) as readonly number[];
  rows.put(key, [index, ...before].slice(0, KEPT_SETTLEMENTS));
  rows.put(eventRow(index), 'trigger.fired');
  const fees_micro_usd = statement['fee_micro_usd'] as number;
  count(entry, rows, { triggers_fired: 1, fees_micro_usd });
}

function projectRelease({ statement }: Sequenced, rows: RowWriter): void {
  const trigger_id = statement['trigger_id'] as string;
  const row = triggerAt(rows, trigger_id);
  if (row?.settled?.bind !== 'held') return;
  holdBinds(rows, row.tenant_ref, row.bind_hold ?? {}, -1);
  const after = { ...row, settled: { ...row.settled, bind: 'released' } };
  rows.put(triggerRow(trigger_id), after as unknown as Json);
}

/** The comparators as words of a sentence. */
const COMPARED: Readonly<Record<Condition['comparator'], string>> = {
  gt: 'above',
  gte: 'at least',
  lt: 'below',
  lte: 'at most',
  eq: 'equal to',
};

/** `foundry.trigger.v2`. */
export const triggerType: EntryType = {
  name: TRIGGER,
  schema: asSchema(TriggerMembers),
  keys: [],
  sentence: sentenceOf<Pick<Static<typeof TriggerMembers>, 'condition' | 'default_action'>>(
    ({ condition, default_action }) => {
      const { metric, comparator, threshold } = condition;
      return `The tenant armed a trigger with the action ${shortName(default_action)} for when ${shortName(metric)} is ${COMPARED[comparator]} ${shortName(threshold)}.`;
    },
  ),
  project: projectTrigger,
};

/** `foundry.notice.v1`; it precedes the settlement in its group. */
export const noticeType: EntryType = {
  name: NOTICE,
  schema: asSchema(NoticeMembers),
  keys: [],
  sentence: sentenceOf<Static<typeof NoticeMembers>>(({ trigger_id, action }) => {
    const to = action === 'notify_broker' ? 'broker' : 'underwriter';
    return `A notice to the ${to} was made for the trigger ${trigger_id}.`;
  }),
};

/** `foundry.release.v1`. */
export const releaseType: EntryType = {
  name: RELEASE,
  schema: asSchema(ReleaseMembers),
  keys: [],
  sentence: sentenceOf<Static<typeof ReleaseMembers>>(
    ({ trigger_id }) => `The tenant released the binds that the trigger ${trigger_id} held.`,
  ),
  project: projectRelease,
};

const UNMET_WORDS: Readonly<Record<Unmet, string>> = {
  threshold_not_met: 'the value does not meet its threshold',
  consecutive_not_reached: 'too few observations in a row have met its threshold',
  outside_window: 'the observation is outside its window',
  no_consensus: 'the aggregate is no consensus',
};

/** `foundry.evaluation.v1`. */
export const evaluationType: EntryType = {
  name: EVALUATION,
  schema: asSchema(EvaluationMembers),
  keys: [],
  sentence: sentenceOf<Static<typeof EvaluationMembers>>(
    ({ trigger_id, reason }) =>
      `The trigger ${trigger_id} was evaluated and did not fire, because ${UNMET_WORDS[reason]}.`,
  ),
  project: projectEvaluation,
};

/** `foundry.settlement.v3`; the entry that is its effect precedes it in its group. */
export const settlementType: EntryType = {
  name: SETTLEMENT,
  schema: asSchema(SettlementMembers),
  keys: [],
  sentence: sentenceOf<
    Pick<Static<typeof SettlementMembers>, 'trigger_id' | 'action' | 'enabled_exposure_micro_usd'>
  >(
    ({ trigger_id, action, enabled_exposure_micro_usd }) =>
      `The trigger ${trigger_id} fired with the action ${shortName(action)} and an enabled exposure of ${usdOf(enabled_exposure_micro_usd)}.`,
  ),
  project: projectSettlement,
};

/**
 * Types of earlier releases. In v1 of a settlement the fee was stated and never owed, and the action was recorded
 * without an effect; in v2 no action gave a permit.
 */
export const earlierTriggerTypes: readonly EntryType[] = [
  {
    ...triggerType,
    name: 'foundry.trigger.v1',
    schema: asSchema(Type.Object(triggerMembers, { additionalProperties: false })),
  },
  {
    ...settlementType,
    name: 'foundry.settlement.v1',
    schema: asSchema(Type.Object(settled, { additionalProperties: false })),
  },
  {
    ...settlementType,
    name: 'foundry.settlement.v2',
    schema: asSchema(settlementMembers(EARLIER_EFFECTS)),
  },
];

/** The events of triggers. */
export const triggerEvents: readonly EventRule[] = [
  {
    entry: TRIGGER,
    events: ['trigger.armed'],
    when: 'A trigger of the tenant is published.',
    eventOf: () => 'trigger.armed',
  },
  {
    entry: NOTICE,
    events: ['trigger.notify_underwriter', 'trigger.notify_broker'],
    when: 'A trigger of the tenant fires with this notice as its action.',
    eventOf: ({ action }) => `trigger.${action as string}`,
  },
  {
    entry: SETTLEMENT,
    events: ['trigger.fired'],
    when: 'A trigger of the tenant fires.',
    eventOf: () => 'trigger.fired',
  },
];
