// From an aggregate request to what is logged. gateway/API.md §10.5, §14.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import { ApiError, Identifier, Millis } from '../../contract.ts';
import type { Draft, JsonObject, PluginHost } from '../../contract.ts';
import { foundryCatalog } from '../catalog.ts';
import type { FoundryCatalog } from '../catalog.ts';
import { DecimalInput, decimalText, exact, exactOf } from '../../decimal.ts';
import { aggregate, METHOD, thresholdsOf } from './aggregate.ts';
import type { Aggregate, Reading } from './aggregate.ts';
import { AGGREGATE, DOES_NOT_ASSERT } from './entries.ts';

const LONGEST_AGE_MS = 86_400_000;

/** Readings of a request; the pipeline takes them too. */
export const ReadingsInput = Type.Array(
  Type.Object({
    source_id: Type.String({ maxLength: 256 }),
    value: DecimalInput,
    observed_at_ms: Type.Optional({ ...Millis, description: 'Now unless given.' }),
  }),
  { minItems: 1, maxItems: 64, description: 'At most one of each source of the catalog.' },
);

/** Body of POST /api/v1/oracle/aggregate. */
export const AggregateBody = Type.Object(
  {
    feed_id: { ...Identifier, description: 'An identifier; it stands in the log in clear.' },
    readings: ReadingsInput,
    max_age_ms: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LONGEST_AGE_MS,
        description: 'In place of the greater of three latencies of the source and 60 s.',
      }),
    ),
    dispute_tolerance: Type.Optional(DecimalInput),
  },
  { $id: 'OracleAggregateRequest' },
);

/** An aggregate request after its schema. */
export type AggregateRequest = Static<typeof AggregateBody>;

/** An aggregate, and the draft that logs it. */
export interface Aggregated {
  readonly result: Aggregate;
  readonly draft: Draft;
}

/** Judges the readings of a request. 400 for a source that the catalog lacks or that is there twice. */
export function aggregated(host: PluginHost, request: AggregateRequest): Aggregated {
  const as_of_ms = host.now();
  const catalog = foundryCatalog(host);
  const readings = readingsOf(catalog, request, as_of_ms);
  const thresholds = thresholdsOf(catalog.oracle.limits, toleranceOf(request.dispute_tolerance));
  const result = aggregate(readings, thresholds, as_of_ms);
  const members = {
    feed_id: request.feed_id,
    method: METHOD,
    as_of_ms,
    ...result,
    readings: result.readings.map((reading, i) => ({
      ...reading,
      observed_at_defaulted: request.readings[i]?.observed_at_ms === undefined,
    })),
    thresholds,
    does_not_assert: Object.keys(DOES_NOT_ASSERT),
  } as unknown as JsonObject;
  return { result, draft: { type: AGGREGATE, members, toll: host.toll('oracle_aggregate') } };
}

function readingsOf(
  { oracle }: FoundryCatalog,
  { readings, max_age_ms }: AggregateRequest,
  now_ms: number,
): Reading[] {
  const seen = new Set<string>();
  return readings.map(({ source_id, value, observed_at_ms }, i): Reading => {
    const source = oracle.sources.find((known) => known.source_id === source_id);
    const param = `readings.${String(i)}.source_id`;
    if (source === undefined) {
      const known = oracle.sources.map((one) => one.source_id).join(', ');
      throw new ApiError('parameter_invalid', `${param} is none of ${known}`, { param });
    }
    if (seen.has(source_id)) {
      throw new ApiError('parameter_invalid', `${param}: ${source_id} is there twice`, { param });
    }
    seen.add(source_id);
    const { max_age_latencies, min_max_age_ms } = oracle.limits;
    const standard = Math.max(max_age_latencies * source.latency_ms, min_max_age_ms);
    return {
      source_id,
      value: decimalText(exactOf(value, `readings.${String(i)}.value`)),
      observed_at_ms: observed_at_ms ?? now_ms,
      weight_milli: Math.round(source.weight * 1000),
      max_age_ms: max_age_ms ?? standard,
    };
  });
}

function toleranceOf(given: string | number | undefined): string | undefined {
  if (given === undefined) return undefined;
  const param = 'dispute_tolerance';
  const tolerance = exactOf(given, param);
  if (tolerance >= 0n && tolerance <= exact('1')) return decimalText(tolerance);
  throw new ApiError('parameter_invalid', `${param} is not 0 to 1`, { param });
}
