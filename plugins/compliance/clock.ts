// GET /compliance/eu-ai-act/article-73: the incidents of a session and their due dates. gateway/API.md §12.1.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  Count,
  listRoute,
  LogNumber,
  Millis,
  sessionCost,
  sessionLog,
  SessionRef,
} from '../contract/index.ts';
import type { Caller, PluginHost, Route } from '../contract/index.ts';
import { ARTICLE_12 } from './catalogs.ts';
import { clocksOf } from './checklist.ts';
import { REPORT_SELECTORS } from './documents.ts';
import { DEFAULT_SESSION } from './event.ts';
import { ENTRIES_PER_COST, readChain } from './session.ts';
import { ClocksSchema, IncidentSchema } from './shapes.ts';

const STATES = ['reported', 'reported_late', 'open', 'overdue'] as const;

const ClockRow = Type.Object(
  {
    ...IncidentSchema.properties,
    due_ms: {
      ...Type.Integer(),
      description: 'Due time by the clock that applies; the earliest one if the kind is unknown.',
    },
    remaining_ms: Type.Integer({ description: 'Time until it is due; negative if overdue.' }),
    state: Type.Enum([...STATES]),
  },
  { $id: 'Article73Incident' },
);
type Row = Static<typeof ClockRow>;

const members = {
  regulation: Type.String(),
  article: Type.Literal('73'),
  session_ref: SessionRef,
  as_of_ms: { ...Millis, description: 'Log time up to which the session was read.' },
  now_ms: { ...Millis, description: 'The time at which the clocks were read.' },
  incident_count: Count,
  overdue_count: Count,
  incident_clocks: ClocksSchema,
  does_not_assert: Type.Array(Type.String()),
};

const DOES_NOT_ASSERT = [
  'that an event is a serious incident in the sense of Article 3(49), or that no other one happened',
  'when the provider became aware: a clock starts at the time that the event claims, else at its log time',
  'that a report reached an authority: the log has the event that says so',
];

/** The clocks of a session as one request reads them. */
interface Reading {
  readonly session_ref: string;
  readonly as_of_ms: number;
  readonly now_ms: number;
  readonly rows: readonly Row[];
}

/** The route of the clocks. */
export function clockRoute(host: PluginHost): Route {
  const Name = Type.String({ minLength: 1, maxLength: host.limits.string_chars });
  const query = {
    session_id: Type.Optional({ ...Name, description: `The default is \`${DEFAULT_SESSION}\`.` }),
    open: Type.Optional(
      Type.Enum(['true', 'false'], { description: '`true`: only incidents without a report.' }),
    ),
    log_number: LogNumber,
  };
  // The session is read once for a request: the counts beside a page are of the reading that has its rows.
  const readings = new WeakMap<object, Reading>();
  return listRoute<Row, typeof query>(host, {
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
    query,
    $id: 'Article73Clock',
    row: ClockRow,
    rows: 'Incidents, oldest first.',
    members,
    errors: ['log_unavailable', 'log_busy'],
    places: '^[0-9a-f-]{36}$',
    cost: ({ query: { session_id = DEFAULT_SESSION }, caller }) =>
      sessionCost(host, caller, session_id, ENTRIES_PER_COST),
    async find(request, { after, limit }) {
      const reading = await read(host, request);
      readings.set(request, reading);
      const { rows } = reading;
      // Which incidents are open may change between two pages, their order does not.
      const from = after === undefined ? 0 : rows.findIndex((row) => row.entry_id === after) + 1;
      const behind = after !== undefined && from === 0 ? [] : rows.slice(from);
      return behind.filter((row) => request.query.open !== 'true' || isOpen(row)).slice(0, limit);
    },
    placeOf: ({ entry_id }) => entry_id,
    shown: (row) => row,
    beside(request) {
      const reading = readings.get(request);
      if (reading === undefined) throw new Error('a page is found before what is beside it');
      const { rows, session_ref, as_of_ms, now_ms } = reading;
      return {
        regulation: ARTICLE_12.regulation['id'],
        article: '73',
        ...{ session_ref, as_of_ms, now_ms },
        incident_count: rows.length,
        overdue_count: rows.filter(({ state }) => state === 'overdue').length,
        incident_clocks: ARTICLE_12.incident_clocks,
        does_not_assert: DOES_NOT_ASSERT,
      };
    },
  });
}

const isOpen = ({ reported_entry_id }: Row): boolean => reported_entry_id === null;

interface Asking {
  readonly caller: Caller;
  readonly query: { readonly session_id?: string; readonly log_number?: string };
}

async function read(host: PluginHost, { caller, query }: Asking): Promise<Reading> {
  const { session_id = DEFAULT_SESSION, log_number } = query;
  const { log, session_ref } = await sessionLog(host, caller, session_id, log_number);
  const { tally, to_ms } = await readChain(log, ['session', session_ref], REPORT_SELECTORS);
  const now_ms = host.now();
  const rows = clocksOf(ARTICLE_12, tally).map(({ incident, due_ms }): Row => {
    const { reported_entry_id, reported_in_time } = incident;
    const reported = reported_in_time ? 'reported' : 'reported_late';
    const waiting = now_ms > due_ms ? 'overdue' : 'open';
    const state = reported_entry_id === null ? waiting : reported;
    return { ...incident, due_ms, remaining_ms: due_ms - now_ms, state };
  });
  return { session_ref, as_of_ms: to_ms, now_ms, rows };
}
