// GET /standards/issuer-pays-scoreboard.json, as JSON or text. gateway/API.md §16.

import { Type } from 'typebox';
import { ApiError, EntryOrHash, kindsOf, LogOfEntry, route } from '../contract/index.ts';
import type { PluginHost, Route } from '../contract/index.ts';
import { sampleOf, scoreboardDocument, scoreboardText } from './scoreboard.ts';

const Entry = Type.Object({
  rank: Type.Integer({ minimum: 1 }),
  issuer: Type.String(),
  grade: Type.String(),
  grade_basis: Type.String(),
  self_assigned: Type.Boolean(),
});

const Scoreboard = Type.Object(
  {
    schema: Type.Literal('svc-issuer-pays-scoreboard-v1'),
    title: Type.String(),
    grades: Type.Array(Type.Object({ grade: Type.String(), criteria_met: Type.Integer() })),
    as_of: Type.String({ format: 'date' }),
    operator: Type.Object({
      grade: Type.String(),
      grade_basis: Type.String(),
      self_assigned: Type.Boolean(),
      as_of: Type.String({ format: 'date' }),
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
    sample: Type.Optional(
      Type.Object({
        entry_id: Type.String(),
        found: Type.Boolean(),
        criteria: Type.Optional(
          Type.Array(
            Type.Object({
              id: Type.String(),
              met: Type.Union([Type.Boolean(), Type.Null()]),
              detail: Type.String(),
            }),
          ),
        ),
        met: Type.Optional(Type.Integer()),
        of: Type.Optional(Type.Integer()),
        grade: Type.Optional(Type.String()),
        verify_url: Type.Optional(Type.String({ format: 'uri' })),
      }),
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
      "The operator's own grade is self-assigned and says so. With `entry_id` the criteria are applied to that " +
      'entry, as anyone can apply them.',
    access: 'read',
    query: Type.Object({
      entry_id: Type.Optional(EntryOrHash),
      format: Type.Optional(Type.String({ description: 'json or txt; json unless given.' })),
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
        throw new ApiError('invalid_format', 'format is neither json nor txt', { param: 'format' });
      }
      const kinds = kindsOf(query.log, caller);
      const sample = entry_id === undefined ? null : await sampleOf(host, kinds, entry_id);
      if (sample !== null) ctx.set('Cache-Control', 'no-store');
      if (format === 'txt') {
        ctx.type = 'text/plain; charset=utf-8';
        ctx.body = scoreboardText(host, sample);
        return;
      }
      ctx.body = scoreboardDocument(host, sample);
    },
  });
}
