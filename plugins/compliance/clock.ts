// GET /compliance/eu-ai-act/article-73: the incidents of a session and their due dates. gateway/API.md §12.1.

import { Type } from 'typebox';
import {
  Count,
  LogNumber,
  Millis,
  route,
  sessionCost,
  sessionLog,
  SessionRef,
} from '../contract/index.ts';
import type { PluginHost, Route } from '../contract/index.ts';
import { ARTICLE_12 } from './catalogs.ts';
import { clocksOf, MAX_INCIDENTS } from './checklist.ts';
import { REPORT_SELECTORS } from './documents.ts';
import { DEFAULT_SESSION } from './event.ts';
import { ENTRIES_PER_COST, readChain } from './session.ts';
import { ClocksSchema, IncidentSchema } from './shapes.ts';

const STATES = ['reported', 'reported_late', 'open', 'overdue'] as const;

const ClockAnswer = Type.Object(
  {
    regulation: Type.String(),
    article: Type.Literal('73'),
    session_ref: SessionRef,
    as_of_ms: { ...Millis, description: 'Log time up to which the session was read.' },
    now_ms: { ...Millis, description: 'The time at which the clocks were read.' },
    incident_count: Count,
    overdue_count: Count,
    incidents: Type.Array(
      Type.Object({
        ...IncidentSchema.properties,
        due_ms: {
          ...Type.Integer(),
          description:
            'Due time by the clock that applies; the earliest one if the kind is unknown.',
        },
        remaining_ms: Type.Integer({ description: 'Time until it is due; negative if overdue.' }),
        state: Type.Enum([...STATES]),
      }),
      { description: `Oldest first, at most ${String(MAX_INCIDENTS)}.` },
    ),
    incident_clocks: ClocksSchema,
    does_not_assert: Type.Array(Type.String()),
  },
  { $id: 'Article73Clock' },
);

const DOES_NOT_ASSERT = [
  'that an event is a serious incident in the sense of Article 3(49), or that no other one happened',
  'when the provider became aware: a clock starts at the time that the event claims, else at its log time',
  'that a report reached an authority: the log has the event that says so',
];

/** The route of the clocks. */
export function clockRoute(host: PluginHost): Route {
  const Name = Type.String({ minLength: 1, maxLength: host.limits.string_chars });
  return route({
    method: 'GET',
    path: '/compliance/eu-ai-act/article-73',
    tag: 'compliance',
    summary:
      'Article 73 clocks: incidents of a session, their due times, and whether they were reported',
    description:
      'Reads the events `incident` and `incident_reported` of the session (POST /compliance/eu-ai-act/article-12/seal). ' +
      'The `incident_kind` of an incident selects its clock; without one the shortest applies. The answer is not ' +
      'signed. The sealed form is the Article 12 report of the session.',
    access: 'open',
    budget: 'write',
    whole: true,
    query: Type.Object({
      session_id: Type.Optional({ ...Name, description: `The default is \`${DEFAULT_SESSION}\`.` }),
      open: Type.Optional(
        Type.Enum(['true', 'false'], { description: '`true`: only incidents without a report.' }),
      ),
      log_number: LogNumber,
    }),
    responses: { 200: { description: 'The clocks.', schema: ClockAnswer } },
    errors: ['log_unavailable', 'log_busy'],
    cost: ({ query, caller }) =>
      sessionCost(host, caller, query.session_id ?? DEFAULT_SESSION, ENTRIES_PER_COST),
    async handle(ctx) {
      const { caller, query } = ctx.state;
      const { session_id = DEFAULT_SESSION, log_number } = query;
      const { log, session_ref } = await sessionLog(host, caller, session_id, log_number);
      const { tally, to_ms } = await readChain(log, ['session', session_ref], REPORT_SELECTORS);
      const now_ms = host.now();
      const all = clocksOf(ARTICLE_12, tally).map(({ incident, due_ms }) => {
        const { reported_entry_id, reported_in_time } = incident;
        const isOver = now_ms > due_ms;
        const reported = reported_in_time ? 'reported' : 'reported_late';
        const waiting = isOver ? 'overdue' : 'open';
        const state: (typeof STATES)[number] = reported_entry_id === null ? waiting : reported;
        return { ...incident, due_ms, remaining_ms: due_ms - now_ms, state };
      });
      const unreported = all.filter(({ reported_entry_id }) => reported_entry_id === null);
      ctx.set('Cache-Control', 'no-store');
      ctx.body = {
        regulation: ARTICLE_12.regulation['id'],
        article: '73',
        session_ref,
        as_of_ms: to_ms,
        now_ms,
        incident_count: all.length,
        overdue_count: all.filter(({ state }) => state === 'overdue').length,
        incidents: (query.open === 'true' ? unreported : all).slice(0, MAX_INCIDENTS),
        incident_clocks: ARTICLE_12.incident_clocks,
        does_not_assert: DOES_NOT_ASSERT,
      };
    },
  });
}
