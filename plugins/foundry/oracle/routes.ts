// POST /api/v1/oracle/aggregate and /api/v1/oracle/resolve. gateway/API.md §10.5, §14.

import { Type } from 'typebox';
import { answerWithPlace, ApiError, EntryId, receiptOf, route } from '../../contract.ts';
import type { AnsweredEntry, CarriedPlace, JsonObject, PluginHost } from '../../contract.ts';
import type { Route, RowReader } from '../../contract.ts';
import { DecimalInput, decimalText, exactOf } from '../../decimal.ts';
import { lastEntry } from '../last-entry.ts';
import {
  AggregateMembers,
  aggregateType,
  DOES_NOT_ASSERT,
  ownAggregate,
  resolutionType,
  withEarlier,
} from './entries.ts';
import { RESOLUTION, ResolutionMembers } from './entries.ts';
import type { AggregateRow } from './entries.ts';
import { AggregateBody, aggregated } from './request.ts';

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

/** The resolution stands already. */
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
        'INSUFFICIENT; a wide spread, too much rejected weight or too few survivors are DISPUTED, and fire ' +
        'no trigger. The receipt carries readings, weights and thresholds: anyone recomputes the value. A ' +
        'consensus is no further from any fresh reading than dispute_tolerance times the median.',
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
    errors: ['resource_missing', 'tenant_forbidden', 'oracle_disputed'],
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
              throw new ApiError('oracle_disputed', message, { param: 'value' });
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
