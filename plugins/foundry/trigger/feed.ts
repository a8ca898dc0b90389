// GET /signal/trigger/feed.json: what was armed and what fired, in the order of the log. interface.md, Foundry.

import { Type } from 'typebox';
import { cursorOf, cursorText, kindOf, limitOf, LogName } from '../../astl/index.ts';
import type { Cursor } from '../../astl/index.ts';
import { Millis, route } from '../../contract.ts';
import type { AnsweredEntry, JsonObject, LogView, PluginHost, Route } from '../../contract.ts';
import { foundryCatalog } from '../catalog.ts';
import { EntryId, Name } from '../members.ts';
import { EVENTS } from './entries.ts';
import { settlementShown } from './fire.ts';
import { ObligationSurface, surfaceOf } from './publish.ts';

const Event = Type.Object(
  {
    event: Type.Enum(['trigger.armed', 'trigger.fired']),
    origin: Type.String(),
    index: Type.Integer({ minimum: 0 }),
    entry_id: EntryId,
    issued_at_ms: Millis,
    trigger_id: EntryId,
    template_id: Name,
    state: Type.Enum(['ARMED', 'FIRED']),
    condition: Type.Object({}),
    obligation_surface: Type.Optional(ObligationSurface),
    settlement: Type.Optional(Type.Object({})),
    permalink: Type.String({ format: 'uri' }),
  },
  { $id: 'TriggerEvent' },
);

const Feed = Type.Object(
  {
    schema: Type.String(),
    events: Type.Array(Event),
    has_more: Type.Boolean(),
    next_cursor: Type.Union([Type.String(), Type.Null()], {
      description: 'What comes after this page; also at the end, where later events will come.',
    }),
    checkpoint: Type.String({ description: 'The newest one of the newest log.' }),
  },
  { $id: 'TriggerFeed' },
);

/** The route of the feed. */
export function feedRoute(host: PluginHost): Route {
  const { page_default, page_max } = host.limits;
  const { schema } = foundryCatalog(host);
  return route({
    method: 'GET',
    path: '/signal/trigger/feed.json',
    tag: 'foundry',
    summary: 'Triggers that were armed and that fired, oldest first',
    description: 'Append-only: a page that was full stays as it is.',
    access: 'read',
    query: Type.Object({
      cursor: Type.Optional(Type.String({ maxLength: 64 })),
      limit: Type.Optional(
        Type.String({
          pattern: '^[0-9]{1,6}$',
          description: `1 to ${String(page_max)}; ${String(page_default)} unless given.`,
        }),
      ),
      log: LogName,
    }),
    responses: { 200: { description: 'A page.', schema: Feed } },
    async handle(ctx) {
      const { query, caller } = ctx.state;
      const limit = limitOf(query.limit, page_default, page_max);
      const kind = kindOf(query.log, caller);
      const found = await eventsAfter(host.logs(kind), cursorOf(query.cursor), limit + 1);
      const shown = found.slice(0, limit);
      const last = shown.at(-1);
      ctx.set('Cache-Control', 'no-cache');
      ctx.body = {
        schema,
        events: shown.map(({ log, index }) => eventOf(log, index)),
        has_more: found.length > limit,
        next_cursor:
          last === undefined ? (query.cursor ?? null) : cursorText(last.log.number, last.index),
        checkpoint: host.log(kind).published().note,
      };
    },
  });
}

async function eventsAfter(
  logs: readonly LogView[],
  after: Cursor,
  limit: number,
): Promise<{ log: LogView; index: number }[]> {
  const found: { log: LogView; index: number }[] = [];
  for (const log of logs) {
    if (log.number < after.number || found.length === limit) continue;
    const start =
      log.number === after.number && after.index >= 0
        ? { after: `${EVENTS}${String(after.index).padStart(16, '0')}` }
        : {};
    const rows = await log.rows(EVENTS, { ...start, limit: limit - found.length });
    found.push(...rows.map(([key]) => ({ log, index: Number(key.slice(EVENTS.length)) })));
  }
  return found;
}

function eventOf(log: LogView, index: number): JsonObject {
  const entry = entryAt(log, index);
  const { statement, entry_id, issued_at_ms, receipt } = entry;
  const { trigger_id = '', template_id = '', state = '', condition = {} } = statement;
  const armed = state === 'ARMED';
  return {
    event: armed ? 'trigger.armed' : 'trigger.fired',
    ...{ origin: log.origin, index, entry_id, issued_at_ms },
    ...{ trigger_id, template_id, state, condition },
    ...(armed
      ? { obligation_surface: surfaceOf(statement) }
      : { settlement: settlementShown(entry) }),
    permalink: receipt['permalink'] ?? '',
  };
}

/** An entry of the log as answers have it. */
export function entryAt(log: LogView, index: number): AnsweredEntry {
  const receipt = log.receipt(index);
  if (receipt === null) throw new Error(`entry ${String(index)} has no receipt`);
  const entry_id = receipt['entry_id'] as string;
  const issued_at_ms = receipt['issued_at_ms'] as number;
  return { index, entry_id, issued_at_ms, statement: receipt, receipt };
}
