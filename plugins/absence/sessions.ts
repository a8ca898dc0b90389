// GET /api/v1/sessions/{session_id}/proof: the entries of the tenant's session, with the proof that none is left out.
// log/FORMAT.md §4 (session_ref), §6.

import { Type } from 'typebox';
import {
  ApiError,
  documentMembers,
  isLogError,
  limitWithin,
  LogNumber,
  Millis,
  route,
  SessionKey,
  sessionLog,
} from '../contract/index.ts';
import type { PluginHost, Route } from '../contract/index.ts';

const MAX_LIMIT = 100;

const Decimal = Type.String({ pattern: '^(0|[1-9][0-9]{0,14})$' });

const SessionDocument = Type.Object(
  {
    ...documentMembers,
    question: Type.Object({
      key: SessionKey,
      from_ms: Millis,
      to_ms: Millis,
    }),
    verdict: Type.Enum(['PRESENT', 'ABSENT']),
  },
  { $id: 'SessionDocument' },
);

/** The route of a session's proof. */
export function sessionRoute(host: PluginHost): Route {
  return route({
    method: 'GET',
    path: '/api/v1/sessions/{session_id}/proof',
    tag: 'absence',
    summary: 'All entries of a session, with the proof that none is left out',
    description:
      'Answers with a document on the chain of the session under the newest checkpoint, which covers every entry ' +
      'acknowledged before the request. Entries name the session by a session_ref that only the tenant can compute; ' +
      'callers that know it get the same document from `proof/lookup`. The number of entries in the window is the ' +
      '`seq` of the `successor`, or the `count` of the `head`, minus the `seq` of the first entry. If only one log has ' +
      'the session, that log answers; a closed log answers up to its end.',
    access: 'key',
    params: Type.Object({
      session_id: Type.String({ minLength: 1, maxLength: host.limits.string_chars }),
    }),
    query: Type.Object({
      from_ms: Type.Optional({
        ...Decimal,
        description: 'The default is the beginning of the log, and 0 for the first log.',
      }),
      to_ms: Type.Optional({
        ...Decimal,
        description: 'The default is the time of the newest map head.',
      }),
      after: Type.Optional({
        ...Decimal,
        description:
          'Index of the last entry of the previous page. A verifier of the page needs the same value.',
      }),
      limit: Type.Optional({
        ...Decimal,
        description: 'Entries of a page, 1 to 100; the default is 100.',
      }),
      log_number: LogNumber,
    }),
    responses: { 200: { description: 'The document.', schema: SessionDocument } },
    errors: ['window_not_closed', 'log_unavailable'],
    async handle(ctx) {
      const { params, query, caller, wait_ms } = ctx.state;
      const { session_id } = params;
      const limit = limitWithin(Number(query.limit ?? MAX_LIMIT), MAX_LIMIT);
      const { log, session_ref } = await sessionLog(host, caller, session_id, query.log_number);
      const { map_head_ms } = await log.covering(log.size());
      const isClosed = log.number !== host.log(caller.kind).number;
      // A document of a closed log cannot cover a time after the end of the log.
      const last_ms = isClosed ? map_head_ms : Infinity;
      const from_ms = Number(query.from_ms ?? log.beganMs());
      const to_ms = Math.min(last_ms, Number(query.to_ms ?? map_head_ms));
      if (query.to_ms !== undefined) await log.windowClosed(to_ms, wait_ms);
      const after = query.after === undefined ? {} : { after: Number(query.after) };
      ctx.set('Cache-Control', 'no-store');
      try {
        const key = ['session', session_ref];
        ctx.body = await log.lookup({ key, from_ms, to_ms }, { limit, ...after });
      } catch (cause) {
        if (!isLogError(cause) || cause.code !== 'out_of_range') throw cause;
        const param = query.after === undefined || from_ms > to_ms ? 'from_ms' : 'after';
        throw new ApiError('parameter_invalid', cause.message, { param, cause });
      }
    },
  });
}
