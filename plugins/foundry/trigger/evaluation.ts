// What a call to fire comes to at one point of the log: refused, replayed, evaluated, or FIRED. Here and nowhere else
// it is decided that a trigger fires once. gateway/API.md §10.5, §10.6.

import { ApiError } from '../../contract/index.ts';
import type { CarriedPlace, JsonObject, RowReader } from '../../contract/index.ts';
import { disputeOf, ownAggregate } from '../oracle/entries.ts';
import { evaluate, triggerAt } from './entries.ts';
import type { Evaluated, Observed, TriggerRow } from './entries.ts';
import { foundryErrors } from '../entries.ts';

/** A call to fire, after its schema. */
export interface Firing {
  readonly trigger_id: string;
  readonly tenant_ref: string;
  /** The caller's clock has no say: the time of the request here. */
  readonly now_ms: number;
  /** A decimal of the condition's metric. */
  readonly reading?: { readonly metric: string; readonly value: string };
  readonly aggregate_entry_id?: string;
  readonly action?: string;
  readonly enabled_exposure_micro_usd?: bigint;
}

const BRAND = Symbol.for('actlog.Repeated');

/** Where the result is that this call repeats. */
export class Repeated extends Error {
  readonly [BRAND] = true;
  readonly place: CarriedPlace;

  constructor(place: CarriedPlace) {
    super('the call repeats an earlier one');
    this.place = place;
  }
}

/** Whether a thrown value is a `Repeated`. */
export const isRepeated = (thrown: unknown): thrown is Repeated =>
  thrown instanceof Error && BRAND in thrown;

/** What is logged of a call. */
export interface Decision {
  readonly trigger: TriggerRow;
  readonly evaluated: Evaluated;
  /** Members that evaluation and settlement share. */
  readonly members: JsonObject;
  readonly action: string;
  readonly enabled_exposure_micro_usd: bigint;
}

/**
 * Decides a call by the rows as of the entry before.
 *
 * @throws Repeated, ApiError
 */
export function decide(rows: RowReader, firing: Firing): Decision {
  const { trigger_id, now_ms } = firing;
  const trigger = ownTrigger(rows, firing);
  if (trigger.settled !== null) throw settledBefore(trigger.settled, firing);
  const { expires_at_ms } = trigger;
  if (expires_at_ms !== undefined && now_ms > expires_at_ms) {
    throw new ApiError(foundryErrors.trigger_window_closed, 'the trigger has expired', {
      param: 'trigger_id',
    });
  }
  const action = firing.action ?? trigger.default_action;
  if (!trigger.callable_actions.includes(action)) {
    const known = trigger.callable_actions.join(', ');
    throw new ApiError('parameter_invalid', `action is none of ${known}`, { param: 'action' });
  }
  const observed = observationOf(rows, trigger, firing);
  const { observed_at_ms, value, ...basis } = observed;
  const evaluated = evaluate(trigger.condition, { observed_at_ms, value }, trigger.run_ms, now_ms);
  const members = {
    trigger_id,
    ...basis,
    condition: trigger.condition,
    value,
    observed_at_ms,
    evaluated_at_ms: now_ms,
    met: evaluated.met,
    run_length: evaluated.run_ms.length,
  } as unknown as JsonObject;
  const enabled_exposure_micro_usd = exposureOf(trigger, firing);
  return { trigger, evaluated, members, action, enabled_exposure_micro_usd };
}

function ownTrigger(rows: RowReader, { trigger_id, tenant_ref }: Firing): TriggerRow {
  const param = 'trigger_id';
  const trigger = triggerAt(rows, trigger_id);
  if (trigger === undefined) {
    throw new ApiError('resource_missing', 'no trigger of this log has this id', { param });
  }
  if (trigger.tenant_ref === tenant_ref) return trigger;
  throw new ApiError('tenant_forbidden', 'only the tenant that published a trigger fires it', {
    param,
  });
}

/** Firing again is the same settlement, unless it asks for another one. */
function settledBefore(settled: NonNullable<TriggerRow['settled']>, firing: Firing): Error {
  const { action, enabled_exposure_micro_usd: exposure } = firing;
  const otherAction = action !== undefined && action !== settled.action;
  const otherExposure =
    exposure !== undefined && exposure !== BigInt(settled.enabled_exposure_micro_usd);
  if (!otherAction && !otherExposure) return new Repeated(settled);
  const param = otherAction ? 'action' : 'enabled_exposure_usd';
  const message = `the trigger has fired already, with another ${param}`;
  return new ApiError(foundryErrors.trigger_already_fired, message, { param });
}

function exposureOf(trigger: TriggerRow, firing: Firing): bigint {
  const enabled = firing.enabled_exposure_micro_usd ?? BigInt(trigger.enabled_exposure_micro_usd);
  if (enabled <= BigInt(trigger.exposure_ceiling_micro_usd)) return enabled;
  const ceiling = String(trigger.exposure_ceiling_micro_usd / 1_000_000);
  const param = 'enabled_exposure_usd';
  throw new ApiError('parameter_invalid', `${param} is over the ceiling of ${ceiling} USD`, {
    param,
  });
}

interface Observation extends Observed {
  readonly basis: 'reading' | 'aggregate';
  readonly aggregate_entry_id?: string;
  readonly resolved?: true;
}

function observationOf(rows: RowReader, trigger: TriggerRow, firing: Firing): Observation {
  const { reading, aggregate_entry_id, now_ms } = firing;
  if (aggregate_entry_id !== undefined) {
    return aggregateObserved(rows, trigger, firing, aggregate_entry_id);
  }
  if (reading === undefined) throw new Error('a call brings a reading or names an aggregate');
  if (trigger.feed_id !== undefined) {
    const message = `the trigger reads the feed ${trigger.feed_id}: name an aggregate of it`;
    throw new ApiError('parameter_invalid', message, { param: 'reading' });
  }
  if (reading.metric !== trigger.condition.metric) {
    const message = `the trigger reads the metric ${trigger.condition.metric}`;
    throw new ApiError('parameter_invalid', message, { param: 'reading.metric' });
  }
  return { basis: 'reading', value: reading.value, observed_at_ms: now_ms };
}

function aggregateObserved(
  rows: RowReader,
  trigger: TriggerRow,
  { tenant_ref }: Firing,
  aggregate_entry_id: string,
): Observation {
  const param = 'aggregate_entry_id';
  const row = ownAggregate(rows, aggregate_entry_id, tenant_ref);
  if (trigger.feed_id !== undefined && row.feed_id !== trigger.feed_id) {
    const message = `the trigger reads the feed ${trigger.feed_id}`;
    throw new ApiError('parameter_invalid', message, { param });
  }
  const { newest } = trigger;
  if (newest?.aggregate === aggregate_entry_id) throw new Repeated(newest);
  // Ids grow with the log, and from a log to the one that follows it.
  if (newest !== null && aggregate_entry_id < newest.aggregate) {
    const message = 'a newer aggregate has been evaluated already';
    throw new ApiError('parameter_invalid', message, { param });
  }
  const open = row.state === 'DISPUTED' && row.resolved === null;
  if (open || disputeOf(rows, tenant_ref, row.feed_id) !== undefined) {
    const message = open
      ? 'a DISPUTED aggregate fires no trigger: aggregate again, or resolve it'
      : `the newest aggregate of the feed ${row.feed_id} is DISPUTED`;
    throw new ApiError(foundryErrors.oracle_disputed, message, { param });
  }
  const { resolved, as_of_ms } = row;
  return {
    basis: 'aggregate',
    aggregate_entry_id,
    ...(resolved === null ? {} : { resolved: true }),
    value: resolved?.value ?? row.consensus,
    observed_at_ms: as_of_ms,
  };
}
