// GET /api/v1/sessions/{session_id}/proof: the tenant's own session as the log knows it, with the proof that
// nothing of it is left out. log/FORMAT.md §4 (session_ref), §6.

import { Type } from 'typebox';
import {
  ApiError,
  documentMembers,
  isLogError,
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
      'A document on the chain of the session as it stands under the newest checkpoint, covering everything ' +
      'acknowledged before. The session is named in the log by a session_ref of the tenant alone; the same ' +
      'document is at `proof/lookup` for whoever knows it. The number of entries in the window is the seq that ' +
      'closes it (of the `successor`, or `count` of the `head`) less the seq of the first entry. A session that is ' +
      'in one log only is answered by that log, up to its end where it is closed.',
    access: 'key',
    params: Type.Object({
      session_id: Type.String({ minLength: 1, maxLength: host.limits.string_chars }),
    }),
    query: Type.Object({
      from_ms: Type.Optional({
        ...Decimal,
        description: 'When the log began unless given; 0 for the first one.',
      }),
      to_ms: Type.Optional({ ...Decimal, description: 'The newest map head unless given.' }),
      after: Type.Optional({
        ...Decimal,
        description:
          'Index of the last entry of the page before; who verifies the page names it too.',
      }),
      limit: Type.Optional({
        ...Decimal,
        description: 'Entries of a page, 1 to 100; 100 unless given.',
      }),
      log_number: LogNumber,
    }),
    responses: { 200: { description: 'The document.', schema: SessionDocument } },
    errors: ['window_not_closed', 'log_unavailable'],
    async handle(ctx) {
      const { params, query, caller, wait_ms } = ctx.state;
      const { session_id } = params;
      const limit = Number(query.limit ?? MAX_LIMIT);
      if (limit < 1 || limit > MAX_LIMIT) {
        throw new ApiError('parameter_invalid', `limit is not 1 to ${String(MAX_LIMIT)}`, {
          param: 'limit',
        });
      }
      const { log, session_ref } = await sessionLog(host, caller, session_id, query.log_number);
      const { map_head_ms } = await log.covering(log.size());
      const isClosed = log.number !== host.log(caller.kind).number;
      // The time of a closed log ends, and no document of it says anything of a later one.
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
