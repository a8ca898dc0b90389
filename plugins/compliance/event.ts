// POST /compliance/eu-ai-act/article-12/seal: logs an event of an AI system.
// gateway/API.md §1.2, §12.1.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  ApiError,
  canonical,
  EntityName,
  entryName,
  indexNamed,
  Millis,
  receiptOf,
  route,
  firstOf,
} from '../contract/index.ts';
import type { Caller, Json, JsonObject, LogView, PluginHost, Route } from '../contract/index.ts';
import { ARTICLE_12 } from './catalogs.ts';
import { EVENT, EventMembers, eventType, OTHER_EVENT } from './entries.ts';

/** The default session of events and reports (gateway/API.md §14). */
export const DEFAULT_SESSION = 'default';

const EventAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    entry_id: Type.String({ format: 'uuid' }),
    verify_url: Type.String({ format: 'uri' }),
    ...EventMembers.properties,
    receipt: receiptOf(eventType),
  },
  { $id: 'Article12Event' },
);

const eventBody = ({ limits }: PluginHost) => {
  const Name = Type.String({ minLength: 1, maxLength: limits.string_chars });
  return Type.Object(
    {
      decision_entry_id: Type.Optional({
        ...Name,
        description: 'Entry id or entry hash of the decision or incident that the event is about.',
      }),
      event_type: Type.Optional({
        ...Name,
        description:
          `Recommended: ${ARTICLE_12.event_types.join(', ')}. Any other text is logged as ` +
          `\`${OTHER_EVENT}\` with a commitment to the text. The default is \`${OTHER_EVENT}\`.`,
      }),
      metadata: Type.Optional(
        Type.Object(
          {},
          {
            description:
              'The entry commits to it and does not contain it. The entry lists which of these members it has: ' +
              `${ARTICLE_12.metadata_names.join(', ')}. The entry also contains \`annex_iii_point\` and ` +
              '`incident_kind` if the catalog lists their values.',
          },
        ),
      ),
      session_id: Type.Optional({ ...Name, description: `The default is \`${DEFAULT_SESSION}\`.` }),
      entity: Type.Optional({
        ...EntityName,
        description:
          'The entity of the tenant that represents the system. Reports of the system then include the event.',
      }),
      event_at_ms: Type.Optional(Millis),
    },
    { $id: 'Article12SealRequest' },
  );
};

/** The route that seals events. */
export function eventRoute(host: PluginHost): Route {
  const toll = host.toll('seal');
  return route({
    method: 'POST',
    path: '/compliance/eu-ai-act/article-12/seal',
    tag: 'compliance',
    summary: 'Seal an Article 12 event',
    description:
      'Logs an event of an AI system in a session and answers with its signed receipt. Of the texts in the request, only ' +
      'words of the published catalog and identifiers are logged in clear text.',
    access: 'open',
    idempotent: true,
    body: eventBody(host),
    responses: { 200: { description: 'The event receipt.', schema: EventAnswer } },
    example: {
      event_type: 'human_verification',
      session_id: 'interview-42',
      metadata: { natural_persons: ['reviewer 7'] },
    },
    async handle(ctx) {
      const { body, caller } = ctx.state;
      const { members, hidden } = eventOf(host.log(caller.kind), caller, body, host);
      const { event_at_ms } = body;
      const at = event_at_ms === undefined ? {} : { event_at_ms };
      await ctx.state.append([{ type: EVENT, members, private: hidden, toll, ...at }]);
    },
    respond(entries) {
      const { statement, receipt, entry_id } = firstOf(entries);
      const shown = Object.keys(EventMembers.properties)
        .filter((name) => statement[name] !== undefined)
        .map((name) => [name, statement[name]]);
      const own = Object.fromEntries(shown) as JsonObject;
      return { ok: true, entry_id, verify_url: receipt.verify_url, ...own, receipt };
    },
  });
}

/** Splits an event into the members in clear text and the committed ones. */
function eventOf(
  log: LogView,
  caller: Caller,
  body: Static<ReturnType<typeof eventBody>>,
  { limits }: PluginHost,
): { readonly members: JsonObject; readonly hidden: Record<string, Json> } {
  const { decision_entry_id, event_type, session_id = DEFAULT_SESSION, entity } = body;
  const metadata = body.metadata as JsonObject | undefined;
  const hidden: Record<string, Json> = {};
  if (metadata !== undefined) {
    if (Buffer.byteLength(canonical(metadata)) > limits.metadata_bytes) {
      const message = `metadata is over ${String(limits.metadata_bytes)} bytes`;
      throw new ApiError('parameter_invalid', message, { param: 'metadata' });
    }
    hidden['metadata'] = metadata;
  }
  const listed = event_type !== undefined && ARTICLE_12.event_types.includes(event_type);
  if (event_type !== undefined && !listed) hidden['event_type'] = event_type;
  const decision =
    decision_entry_id === undefined ? {} : decisionOf(log, caller, decision_entry_id);
  if (decision_entry_id !== undefined && !('decision_entry_id' in decision)) {
    hidden['decision_entry_id'] = decision_entry_id;
  }
  const members = {
    session_ref: caller.sessionRef(session_id),
    event_type: listed ? event_type : OTHER_EVENT,
    ...(entity === undefined ? {} : { entity }),
    ...decision,
    ...(metadata === undefined ? {} : shownOf(metadata)),
  };
  return { members, hidden };
}

/** The members that link the event to the entry that it is about. */
function decisionOf(log: LogView, caller: Caller, named: string): JsonObject {
  const name = entryName(named);
  const index = name === null ? null : indexNamed(log, name);
  const text = index === null ? null : log.entry(index);
  if (text !== null) {
    const { entry_id = '', tenant_ref } = JSON.parse(text) as Record<string, string>;
    if (tenant_ref === caller.tenant_ref) {
      return { decision_entry_id: entry_id, decision_linked: true };
    }
  }
  const shown = name === null ? {} : { decision_entry_id: name };
  return { ...shown, decision_linked: false };
}

/** The members that show which words of the catalog the metadata has. */
function shownOf(metadata: JsonObject): JsonObject {
  const { annex_iii_points, incident_kinds, metadata_names } = ARTICLE_12;
  const has = (name: string): boolean => (metadata[name] ?? '') !== '';
  const one = (name: string, words: readonly string[]): JsonObject => {
    const value = metadata[name];
    // 1(a) is logged as 1.a, because identifiers have no brackets (log/FORMAT.md §2).
    const word = typeof value === 'string' ? value.replace(/\(([a-c])\)$/, '.$1') : '';
    return words.includes(word) ? { [name]: word } : {};
  };
  return {
    ...one('annex_iii_point', annex_iii_points),
    ...one('incident_kind', incident_kinds),
    metadata_names: metadata_names.filter(has),
  };
}
