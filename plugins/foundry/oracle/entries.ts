// The entries of the oracle: an aggregate with everything it was computed from, and the resolution of a
// dispute. Their row: the latest state of a tenant's feed. gateway/API.md §10.5; log/FORMAT.md §2.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  ApiError,
  asSchema,
  DecimalText,
  EntryId,
  Identifier,
  Millis,
  Nullable,
  plural,
  SafeCount,
  sentenceOf,
  shortName,
} from '../../contract/index.ts';
import type {
  CarriedPlace,
  EntryType,
  JsonObject,
  Kind,
  PluginHost,
  RowReader,
  RowWriter,
  Sequenced,
} from '../../contract/index.ts';
import { count, tenantOf } from '../entries.ts';
import { METHOD, REASONS, STANDINGS, STATES } from './aggregate.ts';
import type { State } from './aggregate.ts';

/** Identifier of the entry type of an aggregate. */
export const AGGREGATE = 'foundry.aggregate.v2';
/** Identifier of the entry type of a resolution. */
export const RESOLUTION = 'foundry.resolution.v1';

/** What an aggregate leaves open. */
export const DOES_NOT_ASSERT = {
  readings_authentic: 'that the sources gave these readings: they are as the tenant submitted them',
  value_true: 'that the value is true, only that it follows from the readings by the method',
} as const;

const RatioText = Type.Union([
  DecimalText,
  Type.Enum(['1/2', '1/3', '1/4', '2/3'], { description: 'A fraction.' }),
]);

const ReadingMembers = Type.Object(
  {
    source_id: Identifier,
    value: DecimalText,
    observed_at_ms: Millis,
    /** True where the request did not say when. */
    observed_at_defaulted: Type.Boolean(),
    weight_milli: SafeCount,
    max_age_ms: SafeCount,
    standing: Type.Enum([...STANDINGS]),
  },
  { additionalProperties: false },
);

/** The members that both versions of an aggregate have. */
const aggregateMembers = {
  feed_id: Identifier,
  method: Type.Literal(METHOD),
  as_of_ms: { ...Millis, description: 'The time at which the readings were fresh or not.' },
  state: Type.Enum([...STATES]),
  dispute_reasons: Type.Array(Type.Enum([...REASONS])),
  consensus: Nullable(DecimalText),
  value: Nullable(DecimalText),
  median: Nullable(DecimalText),
  spread: Nullable(DecimalText),
  fresh_weight_milli: SafeCount,
  rejected_weight_milli: SafeCount,
  readings: Type.Array(ReadingMembers),
  thresholds: Type.Object(
    {
      min_readings: SafeCount,
      min_survivors: SafeCount,
      mad_threshold: DecimalText,
      mad_zero_tolerance: DecimalText,
      trim_each_tail: DecimalText,
      dispute_tolerance: DecimalText,
      max_rejected_weight: RatioText,
      future_skew_ms: SafeCount,
    },
    { additionalProperties: false },
  ),
  does_not_assert: Type.Array(Type.Enum(Object.keys(DOES_NOT_ASSERT))),
};

/** What an aggregate says beside the common members: a reader of the entry can compute the value again. */
export const AggregateMembers = Type.Object(
  { ...aggregateMembers, spread_over: Type.Literal('survivors') },
  { additionalProperties: false },
);

/** What a resolution says; the resolver is a commitment. */
export const ResolutionMembers = Type.Object(
  {
    aggregate_entry_id: EntryId,
    feed_id: Identifier,
    state: Type.Literal('RESOLVED'),
    value: DecimalText,
  },
  { additionalProperties: false },
);

/** An aggregate, as its row has it. */
export interface AggregateRow extends CarriedPlace {
  readonly tenant_ref: string;
  readonly feed_id: string;
  readonly as_of_ms: number;
  readonly state: State;
  readonly consensus: string | null;
  /** Where the dispute was resolved, and to which value. */
  readonly resolved: (CarriedPlace & { readonly value: string }) | null;
}

/** Row of an aggregate. */
export const aggregateRow = (entry_id: string): string => `foundry/aggregate/${entry_id}`;
/** Row of a tenant's feed: the entry id of its newest aggregate that had enough readings. */
export const feedRow = (tenant_ref: string, feed_id: string): string =>
  `foundry/feed/${tenant_ref}/${feed_id}`;

/** Whether an aggregate has a dispute that is not resolved. */
export const isOpenDispute = ({ state, resolved }: AggregateRow): boolean =>
  state === 'DISPUTED' && resolved === null;

/**
 * The rows of the newest log, with those of aggregates in closed ones. Only open disputes are carried; every other
 * aggregate is what it was when its log was closed.
 */
export function withEarlier(
  host: Pick<PluginHost, 'log' | 'logs'>,
  kind: Kind,
  rows: RowReader,
): RowReader {
  const { number } = host.log(kind);
  if (number === 1) return rows;
  return {
    get(key) {
      const row = rows.get(key);
      if (row !== undefined || !key.startsWith(aggregateRow(''))) return row;
      for (const log of host.logs(kind).toReversed()) {
        if (log.number === number) continue;
        const found = log.row(key.slice('foundry/'.length)) as AggregateRow | undefined;
        if (found === undefined) continue;
        const { resolved } = found;
        return {
          log_number: log.number,
          ...found,
          resolved: resolved === null ? null : { log_number: log.number, ...resolved },
        };
      }
      return undefined;
    },
  };
}

/** The row of an aggregate; undefined for what is none. */
function aggregateAt(rows: RowReader, entry_id: string): AggregateRow | undefined {
  return rows.get(aggregateRow(entry_id)) as unknown as AggregateRow | undefined;
}

/**
 * The row of an aggregate that the tenant made.
 *
 * @throws ApiError `resource_missing` where there is none, `tenant_forbidden` where it is of another tenant
 */
export function ownAggregate(rows: RowReader, entry_id: string, tenant_ref: string): AggregateRow {
  const param = 'aggregate_entry_id';
  const row = aggregateAt(rows, entry_id);
  if (row === undefined) {
    throw new ApiError('resource_missing', 'no aggregate of this log has this entry id', { param });
  }
  if (row.tenant_ref !== tenant_ref) {
    throw new ApiError('tenant_forbidden', 'the aggregate is of another tenant', { param });
  }
  return row;
}

/** The aggregate that holds a feed in dispute; undefined when the feed is clear. */
export function disputeOf(
  rows: RowReader,
  tenant_ref: string,
  feed_id: string,
): AggregateRow | undefined {
  const newest = rows.get(feedRow(tenant_ref, feed_id)) as string | undefined;
  const row = newest === undefined ? undefined : aggregateAt(rows, newest);
  return row !== undefined && isOpenDispute(row) ? row : undefined;
}

function projectAggregate(entry: Sequenced, rows: RowWriter): void {
  const { index, entry_id, statement } = entry;
  const { feed_id, as_of_ms, state, consensus } = statement;
  const tenant_ref = tenantOf(statement);
  const row = { tenant_ref, index, feed_id, as_of_ms, state, consensus, resolved: null };
  rows.put(aggregateRow(entry_id), row as JsonObject);
  // Too few readings say nothing new of the feed: a dispute stays one.
  if (state !== 'INSUFFICIENT') rows.put(feedRow(tenant_ref, feed_id as string), entry_id);
  const aggregates_disputed = state === 'DISPUTED' ? 1 : 0;
  count(entry, rows, { aggregates: 1, aggregates_disputed });
}

function projectResolution(entry: Sequenced, rows: RowWriter): void {
  const { index, statement } = entry;
  const id = statement['aggregate_entry_id'] as string;
  const row = aggregateAt(rows, id);
  const resolved = { index, value: statement['value'] as string };
  if (row !== undefined) rows.put(aggregateRow(id), { ...row, resolved });
  count(entry, rows, { resolutions: 1 });
}

/** `foundry.aggregate.v2`; each is on the chain of its feed's name. */
export const aggregateType: EntryType = {
  name: AGGREGATE,
  schema: asSchema(AggregateMembers),
  keys: [['foundry.feed', 'feed_id']],
  sentence: sentenceOf<Omit<Static<typeof AggregateMembers>, 'spread_over'>>(
    ({ feed_id, readings, state, value }) => {
      const result = value === null ? '' : `, with the value ${shortName(value)}`;
      return `The aggregate of ${plural(readings.length, 'reading')} of the feed ${shortName(feed_id)} is ${state}${result}.`;
    },
  ),
  project: projectAggregate,
};

/** `foundry.aggregate.v1`, of earlier releases: the spread is that of all fresh readings. */
export const earlierAggregateType: EntryType = {
  ...aggregateType,
  name: 'foundry.aggregate.v1',
  schema: asSchema(Type.Object(aggregateMembers, { additionalProperties: false })),
};

/** `foundry.resolution.v1`; on the chain of the feed too. */
export const resolutionType: EntryType = {
  name: RESOLUTION,
  schema: asSchema(ResolutionMembers),
  keys: [['foundry.feed', 'feed_id']],
  sentence: sentenceOf<Static<typeof ResolutionMembers>>(
    ({ feed_id, aggregate_entry_id, value }) =>
      `The dispute over the aggregate ${aggregate_entry_id} of the feed ${shortName(feed_id)} was resolved with the value ${shortName(value)}.`,
  ),
  project: projectResolution,
};
