// POST /api/v1/oracle/aggregate and /api/v1/oracle/resolve. gateway/API.md §10.5, §14.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  answerWithPlace,
  ApiError,
  DecimalInput,
  decimalText,
  EntryId,
  exact,
  exactOf,
  Identifier,
  Millis,
  receiptOf,
  route,
} from '../../contract/index.ts';
import type {
  AnsweredEntry,
  CarriedPlace,
  Draft,
  JsonObject,
  PluginHost,
  Route,
  RowReader,
} from '../../contract/index.ts';
import { foundryCatalog } from '../catalog.ts';
import type { FoundryCatalog } from '../catalog.ts';
import { foundryErrors, lastEntry } from '../entries.ts';
import { aggregate, METHOD, thresholdsOf } from './aggregate.ts';
import type { Aggregate, Reading } from './aggregate.ts';
import {
  AGGREGATE,
  AggregateMembers,
  aggregateType,
  DOES_NOT_ASSERT,
  ownAggregate,
  RESOLUTION,
  ResolutionMembers,
  resolutionType,
  withEarlier,
} from './entries.ts';
import type { AggregateRow } from './entries.ts';

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
const AggregateBody = Type.Object(
  {
    feed_id: { ...Identifier, description: 'An identifier; the log holds it as plain text.' },
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
interface Aggregated {
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
    spread_over: 'survivors',
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

const { does_not_assert: _, ...shown } = AggregateMembers.properties;

/** What an aggregate is answered with. */
const AggregateAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    aggregate_entry_id: EntryId,
    ...shown,
    does_not_assert: Type.Array(Type.String()),
    verify_url: Type.String({ format: 'uri' }),
    receipt: receiptOf(aggregateType),
  },
  { $id: 'OracleAggregate' },
);

const ResolutionAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    ...ResolutionMembers.properties,
    resolution_entry_id: EntryId,
    receipt: receiptOf(resolutionType),
  },
  { $id: 'OracleResolution' },
);

/** The log has the resolution already. */
class AlreadyResolved extends Error {
  readonly place: CarriedPlace;

  constructor(place: CarriedPlace) {
    super('the dispute is resolved so already');
    this.place = place;
  }
}

/** An aggregate's entry as its answer shows it. */
function aggregateShown({ entry_id, statement, receipt }: AnsweredEntry): JsonObject {
  const members = Object.keys(shown).map((name) => [name, statement[name] ?? null] as const);
  return {
    aggregate_entry_id: entry_id,
    ...Object.fromEntries(members),
    does_not_assert: Object.values(DOES_NOT_ASSERT),
    verify_url: receipt.verify_url,
  };
}

/** The routes of the oracle. */
export function oracleRoutes(host: PluginHost): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/v1/oracle/aggregate',
      tag: 'foundry',
      summary: 'Aggregate readings of several sources into one value',
      description:
        'Weighted median, MAD rejection, weighted trimmed mean. Fewer than three fresh readings are ' +
        'INSUFFICIENT; a wide spread of the readings that survived, too much rejected weight or too few survivors ' +
        'are DISPUTED, and fire no trigger. The receipt carries readings, weights and thresholds: anyone recomputes ' +
        'the value. A consensus is no further from any surviving reading than dispute_tolerance times the median.',
      access: 'open',
      idempotent: true,
      body: AggregateBody,
      responses: { 200: { description: 'The aggregate.', schema: AggregateAnswer } },
      example: {
        feed_id: 'incident-index',
        readings: [
          { source_id: 'net_a', value: '1.01' },
          { source_id: 'net_b', value: '1.00' },
          { source_id: 'first_party', value: '1.02' },
        ],
      },
      async handle(ctx) {
        await ctx.state.append([aggregated(host, ctx.state.body).draft]);
      },
      respond(entries) {
        const entry = lastEntry(entries);
        return { ok: true, ...aggregateShown(entry), receipt: entry.receipt };
      },
    }),
    resolveRoute(host),
  ];
}

function resolveRoute(host: PluginHost): Route {
  const { limits } = host;
  return route({
    method: 'POST',
    path: '/api/v1/oracle/resolve',
    tag: 'foundry',
    summary: 'Resolve a disputed aggregate',
    description:
      'By the word of a named resolver, whom the entry commits to. Only an aggregate of the own tenant, and ' +
      'once: the same value again answers the same entry. The example needs the aggregate_entry_id of an aggregate ' +
      'that is DISPUTED.',
    access: 'open',
    idempotent: true,
    body: Type.Object(
      {
        aggregate_entry_id: EntryId,
        value: DecimalInput,
        resolver: Type.String({ minLength: 1, maxLength: limits.string_chars }),
      },
      { $id: 'OracleResolveRequest' },
    ),
    responses: { 200: { description: 'The resolution.', schema: ResolutionAnswer } },
    errors: ['resource_missing', 'tenant_forbidden', foundryErrors.oracle_disputed],
    example: {
      aggregate_entry_id: '01900000-0000-7000-8000-000000000000',
      value: '1.01',
      resolver: 'The panel of the three sources',
    },
    async handle(ctx) {
      const { body, caller } = ctx.state;
      const { aggregate_entry_id, resolver } = body;
      const value = decimalText(exactOf(body.value, 'value'));
      const all = (rows: RowReader): RowReader => withEarlier(host, caller.kind, rows);
      try {
        await ctx.state.append(
          [
            {
              type: RESOLUTION,
              members: ({ rows }) => {
                const { feed_id } = resolvable(all(rows), aggregate_entry_id, caller.tenant_ref);
                return { aggregate_entry_id, feed_id, state: 'RESOLVED', value };
              },
              private: { resolver },
            },
          ],
          {
            check({ rows }) {
              const { resolved } = resolvable(all(rows), aggregate_entry_id, caller.tenant_ref);
              if (resolved === null) return;
              if (resolved.value === value) throw new AlreadyResolved(resolved);
              const message = `the aggregate is resolved already, to ${resolved.value}`;
              throw new ApiError(foundryErrors.oracle_disputed, message, { param: 'value' });
            },
          },
        );
      } catch (error) {
        if (!(error instanceof AlreadyResolved)) throw error;
        await answerWithPlace(ctx, error.place);
      }
    },
    respond(entries) {
      const { statement, entry_id, receipt } = lastEntry(entries);
      const members = Object.keys(ResolutionMembers.properties).map(
        (name) => [name, statement[name] ?? null] as const,
      );
      return {
        ok: true,
        ...Object.fromEntries(members),
        resolution_entry_id: entry_id,
        receipt,
      };
    },
  });
}

function resolvable(rows: RowReader, entry_id: string, tenant_ref: string): AggregateRow {
  const row = ownAggregate(rows, entry_id, tenant_ref);
  if (row.state !== 'DISPUTED') {
    const message = `the aggregate is ${row.state}: only a DISPUTED one is resolved`;
    throw new ApiError('parameter_invalid', message, { param: 'aggregate_entry_id' });
  }
  return row;
}
