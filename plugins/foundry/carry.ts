// What of a closed log's foundry goes over into its successor: the books of every asset, every trigger with its run
// and what it fired, and disputes that are open. Aggregates that no trigger holds are read from the log that has them
// (oracle/entries.ts). Counts of the installed base are added over the logs, a pack names its own log, and a session
// of inference seals is one of its own log: none of these goes over.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  carriedKind,
  carriedType,
  DecimalText,
  eachRow,
  EntryId,
  Identifier,
  Millis,
  Nullable,
  SafeCount,
} from '../contract/index.ts';
import type { Carried, Carry, JsonObject, LogView, RowWriter } from '../contract/index.ts';
import { balanceRow, HolderRef, supplyRow } from './custody.ts';
import { aggregateRow, feedRow, isOpenDispute } from './oracle/entries.ts';
import type { AggregateRow } from './oracle/entries.ts';
import { BindScope, ConditionMembers, holdBinds, triggerRow } from './trigger/entries.ts';
import type { TriggerRow } from './trigger/entries.ts';

const LogNumber = { ...SafeCount, minimum: 1 };
const Supply = Type.Object(
  { asset_ref: Identifier, supply: DecimalText },
  { additionalProperties: false },
);
const Balance = Type.Object(
  { asset_ref: Identifier, holder_ref: Type.Optional(HolderRef), balance: DecimalText },
  { additionalProperties: false },
);
const settled = {
  index: SafeCount,
  log_number: LogNumber,
  action: Identifier,
  enabled_exposure_micro_usd: SafeCount,
};
const trigger = {
  trigger_id: EntryId,
  template_id: Identifier,
  condition: ConditionMembers,
  default_action: Identifier,
  callable_actions: Type.Array(Identifier),
  exposure_ceiling_micro_usd: SafeCount,
  enabled_exposure_micro_usd: SafeCount,
  fee_bps: Nullable(DecimalText),
  feed_id: Type.Optional(Identifier),
  expires_at_ms: Type.Optional(Millis),
  run_ms: Type.Array(Millis),
  newest: Nullable(
    Type.Object(
      { aggregate: EntryId, at: Type.Integer(), index: SafeCount, log_number: LogNumber },
      { additionalProperties: false },
    ),
  ),
  settled: Nullable(Type.Object(settled, { additionalProperties: false })),
};
const Trigger = Type.Object(
  {
    ...trigger,
    settled: Nullable(
      Type.Object(
        { ...settled, bind: Type.Optional(Type.Enum(['held', 'released'])) },
        { additionalProperties: false },
      ),
    ),
    bind_hold: Type.Optional(BindScope),
  },
  { additionalProperties: false },
);
const Dispute = Type.Object(
  {
    aggregate_entry_id: EntryId,
    feed_id: Identifier,
    as_of_ms: Millis,
    newest: Type.Boolean({ description: 'It is the newest aggregate of its feed.' }),
  },
  { additionalProperties: false },
);

const kinds = {
  supply: carriedKind(Supply, ({ value }, rows) => {
    rows.put(supplyRow(value.asset_ref), value.supply);
  }),
  balance: carriedKind(Balance, ({ value }, rows) => {
    rows.put(balanceRow(value.asset_ref, value.holder_ref), value.balance);
  }),
  dispute: carriedKind(Dispute, ({ value, tenant_ref, rests_on }, rows) => {
    const { aggregate_entry_id, feed_id, as_of_ms, newest } = value;
    const { index, log_number } = rests_on;
    const state = { state: 'DISPUTED', consensus: null, resolved: null };
    const row = { tenant_ref, index, log_number, feed_id, as_of_ms, ...state };
    rows.put(aggregateRow(aggregate_entry_id), row);
    if (newest) rows.put(feedRow(tenant_ref, feed_id), aggregate_entry_id);
  }),
};

function projectCarried(
  { value, tenant_ref, rests_on }: Carried<Static<typeof Trigger>>,
  rows: RowWriter,
): void {
  const { trigger_id, ...terms } = value;
  const { index, log_number } = rests_on;
  const row = { tenant_ref, index, log_number, ...terms } as unknown as JsonObject;
  rows.put(triggerRow(trigger_id), row);
  if (value.settled?.bind === 'held') holdBinds(rows, tenant_ref, value.bind_hold ?? {}, 1);
}

/** `foundry.carried.v2`. */
export const carried = carriedType(
  'foundry',
  { ...kinds, trigger: carriedKind(Trigger, projectCarried) },
  2,
);

/** `foundry.carried.v1`, of earlier releases: no trigger held a bind. */
export const earlierCarried = carriedType('foundry', {
  supply: kinds.supply,
  balance: kinds.balance,
  trigger: carriedKind(Type.Object(trigger, { additionalProperties: false }), projectCarried),
  dispute: kinds.dispute,
});

/** The `carry` of the foundry. */
export async function* carry(closed: LogView): AsyncGenerator<Carry> {
  yield* books(closed);
  for await (const [row, found] of eachRow(closed, own(triggerRow('')))) {
    yield triggerOf(closed, row, found as unknown as TriggerRow);
  }
  const aggregates = own(aggregateRow(''));
  for await (const [row, found] of eachRow(closed, aggregates)) {
    const aggregate = found as unknown as AggregateRow;
    if (!isOpenDispute(aggregate)) continue;
    const { tenant_ref, feed_id, as_of_ms, index, log_number } = aggregate;
    const aggregate_entry_id = row.slice(aggregates.length);
    const newest = closed.row(own(feedRow(tenant_ref, feed_id))) === aggregate_entry_id;
    const value = { aggregate_entry_id, feed_id, as_of_ms, newest };
    yield { what: 'dispute', row, tenant_ref, value, index, log_number };
  }
}

async function* books(closed: LogView): AsyncGenerator<Carry> {
  const supplies = own(supplyRow(''));
  for await (const [row, supply] of eachRow(closed, supplies)) {
    const asset_ref = row.slice(supplies.length);
    yield { what: 'supply', row, ...ofAsset(asset_ref), value: { asset_ref, supply } };
  }
  const balances = 'balance/';
  for await (const [row, balance] of eachRow(closed, balances)) {
    const [asset_ref = '', holder_ref = ''] = row.slice(balances.length).split('/');
    // Who holds nothing is as one who never held anything.
    if (balance === '0') continue;
    const holder = holder_ref === '' ? {} : { holder_ref };
    yield { what: 'balance', row, ...ofAsset(asset_ref), value: { asset_ref, ...holder, balance } };
  }
}

/** `asset:<tenant_ref>:<asset id>` */
const ofAsset = (asset_ref: string): { readonly tenant_ref: string } => ({
  tenant_ref: asset_ref.split(':')[1] ?? '',
});

function triggerOf(closed: LogView, row: string, trigger: TriggerRow): Carry {
  const { tenant_ref, index, log_number, newest, settled, ...terms } = trigger;
  const of = <T extends { readonly log_number?: number }>(place: T | null) =>
    place === null ? null : { ...place, log_number: place.log_number ?? closed.number };
  const value = {
    trigger_id: row.slice(own(triggerRow('')).length),
    ...terms,
    newest: of(newest),
    settled: of(settled),
  } as unknown as JsonObject;
  return { what: 'trigger', row, tenant_ref, value, index, log_number };
}

/** Keys of rows begin with the plugin's name; a view wants what is behind it. */
const own = (key: string): string => key.slice('foundry/'.length);
