// GET /standards/issuer-pays-scoreboard.json, as JSON or text. gateway/API.md §16.

import { Type } from 'typebox';
import {
  ApiError,
  EntryOrHash,
  kindOf,
  kindsOf,
  LogOfEntry,
  Nullable,
  route,
} from '../contract/index.ts';
import type { PluginHost, Route } from '../contract/index.ts';
import { firstListings, ListingShown } from './listings.ts';
import { liveSample, sampleOf, scoreboardDocument, scoreboardText } from './scoreboard.ts';

const Entry = Type.Object({
  rank: Type.Integer({ minimum: 1 }),
  issuer: Type.String(),
  grade: Type.String(),
  grade_basis: Type.String(),
  self_assigned: Type.Boolean(),
  met: Nullable(Type.Boolean()),
  detail: Type.String({ description: 'What the live sample shows of the criterion.' }),
});

const gradedMembers = {
  entry_id: Type.String(),
  criteria: Type.Array(
    Type.Object({ id: Type.String(), met: Nullable(Type.Boolean()), detail: Type.String() }),
  ),
  met: Type.Integer(),
  of: Type.Integer(),
  grade: Type.String({ description: 'Of `grades`, by the number of criteria that are met.' }),
  verify_url: Type.String({ format: 'uri' }),
};

const Graded = Type.Object(gradedMembers, {
  $id: 'GradedEntry',
  description: 'The criteria applied to one entry.',
});

const Scoreboard = Type.Object(
  {
    schema: Type.Literal('svc-issuer-pays-scoreboard-v1'),
    title: Type.String(),
    grades: Type.Array(Type.Object({ grade: Type.String(), criteria_met: Type.Integer() })),
    as_of: Type.String({ format: 'date' }),
    operator: Type.Object({
      grade: Type.String({
        description: 'The lower of the claimed grade and that of the live sample.',
      }),
      claimed_grade: Type.String(),
      grade_basis: Type.String(),
      self_assigned: Type.Boolean(),
      as_of: Type.String({ format: 'date' }),
      live_sample: Nullable(Graded),
    }),
    disclosure: Type.String(),
    grade_rule: Type.String(),
    rankings_count: Type.Integer(),
    rankings: Type.Array(
      Type.Object({
        id: Type.String(),
        name: Type.String(),
        method: Type.String(),
        as_of: Type.String({ format: 'date' }),
        evidence: Type.String({ format: 'uri' }),
        entries: Type.Array(Entry),
      }),
    ),
    listings: Type.Array(ListingShown, { description: 'The first ones by slug.' }),
    listings_url: Type.String({ format: 'uri', description: 'All listings, in pages.' }),
    sample: Type.Optional(
      Type.Union([
        Type.Object({ ...gradedMembers, found: Type.Literal(true) }),
        Type.Object({ entry_id: Type.String(), found: Type.Literal(false) }),
      ]),
    ),
  },
  { $id: 'IssuerPaysScoreboard' },
);

/** The route of the scoreboard. */
export function scoreboardRoute(host: PluginHost): Route {
  return route({
    method: 'GET',
    path: '/standards/issuer-pays-scoreboard.json',
    tag: 'issuer-pays',
    summary: 'Nine rankings of receipt issuers, each with its method and date',
    description:
      "The operator's own grade is self-assigned, says so, and is never better than what the criteria give the " +
      'newest published entry. With `entry_id` they are also applied to that entry. Anyone can apply them. Listed ' +
      'issuers are shown next to the rankings and are not assessed.',
    access: 'read',
    query: Type.Object({
      entry_id: Type.Optional(EntryOrHash),
      format: Type.Optional(Type.String({ description: 'json or txt; the default is json.' })),
      log: LogOfEntry,
    }),
    responses: {
      200: { description: 'The scoreboard.', schema: Scoreboard, formats: ['text/plain'] },
    },
    errors: ['invalid_format', 'log_unavailable'],
    async handle(ctx) {
      const { query, caller } = ctx.state;
      const { entry_id, format = 'json' } = query;
      if (format !== 'json' && format !== 'txt') {
        throw new ApiError('invalid_format', 'format must be json or txt', { param: 'format' });
      }
      const kinds = kindsOf(query.log, caller);
      const kind = kindOf(query.log, caller);
      const sample = entry_id === undefined ? null : await sampleOf(host, kinds, entry_id);
      const listings = await firstListings(host, kind);
      const shown = { live: await liveSample(host), sample, listings };
      ctx.set('Cache-Control', 'no-store');
      if (format === 'txt') {
        ctx.type = 'text/plain; charset=utf-8';
        ctx.body = scoreboardText(host, shown);
        return;
      }
      ctx.body = scoreboardDocument(host, shown);
    },
  });
}
