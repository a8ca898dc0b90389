// The routes of the Article 12 reports, about a session or about a system in a period, and of the NAIC exhibit pack.
// gateway/API.md §4.3, §12.
//
// A report can also be answered as a page, rendered from the JSON object with every text escaped, without scripts. Its
// style sheet is part of the page, so that a saved copy keeps it.

import { readFileSync } from 'node:fs';
import { Eta } from 'eta';
import { Type } from 'typebox';
import type { TObject, TProperties, TSchema } from 'typebox';
import {
  ApiError,
  chainCount,
  described,
  EntityName,
  logName,
  LogNumber,
  LookupDocument,
  lookupUrl,
  receiptOf,
  route,
  sendPage,
  sessionCost,
  sessionLog,
  sessionsOf,
} from '../contract/index.ts';
import type {
  Caller,
  EntryType,
  JsonObject,
  LogView,
  PluginHost,
  Route,
  RouteContext,
} from '../contract/index.ts';
import { holdOf } from './assess.ts';
import { PACK_SELECTORS, packOf, REPORT_SELECTORS, reportOf, Sealer } from './documents.ts';
import type { SealTime, Subject } from './documents.ts';
import { PACK, packType, REPORT, reportType, SYSTEM_REPORT, systemReportType } from './entries.ts';
import { DEFAULT_SESSION } from './event.ts';
import { ENTRIES_PER_COST, readChain } from './session.ts';
import type { ReadChain } from './session.ts';
import { PackSchema, ReportSchema, SystemReportSchema } from './shapes.ts';
import { asked, packText, printable, reportText, spoken } from './text.ts';

/** The style sheet of the page. */
const STYLE = `\n${readFileSync(new URL('./report.css', import.meta.url), 'utf8')}`;

const eta = new Eta({ autoEscape: true, autoTrim: false });
const template = eta.compile(readFileSync(new URL('./report.eta', import.meta.url), 'utf8'));

/** Renders the page; `entryUrl` makes the links to entries. */
function reportPage(report: JsonObject, entryUrl: (entry_id: string) => string): string {
  return eta.render(template, {
    ...{ report, entryUrl, asked, printable, spoken },
    style: STYLE,
  });
}

/** A kind of document: the type of its commitment, its selectors, and the function that builds it. */
interface Kind {
  readonly type: string;
  readonly selectors: ReadonlyMap<string, readonly string[]>;
  build(session: ReadChain, subject: Subject, at: SealTime): JsonObject;
}

const REPORT_KIND: Kind = { type: REPORT, selectors: REPORT_SELECTORS, build: reportOf };
const PACK_KIND: Kind = { type: PACK, selectors: PACK_SELECTORS, build: packOf };

const SEALED =
  'An entry of the log (`receipt`) commits to the document; a new one is appended if the document has changed since ' +
  'the last request. The document contains the proof that no entry of the session is left out. `actlog verify` ' +
  'checks both offline. Without a key the session is one of the shared tenant `public`. A document covers only the ' +
  'newest log; if an earlier log also has the session, `log_number` is required.';

/** The routes of the documents. */
export function documentRoutes(host: PluginHost): readonly Route[] {
  const sealer = new Sealer();
  const Name = Type.String({ minLength: 1, maxLength: host.limits.string_chars });
  return [
    route({
      ...shared,
      access: 'open',
      path: '/compliance/eu-ai-act/article-12',
      summary: 'Article 12 seal report and checklist of a session',
      description: SEALED,
      query: Type.Object({
        session_id: Type.Optional({
          ...Name,
          description: `The default is \`${DEFAULT_SESSION}\`.`,
        }),
        format: formatOf(['json', 'txt', 'html']),
        log_number: LogNumber,
      }),
      responses: {
        200: {
          description: 'The report.',
          schema: served(ReportSchema, reportType),
          formats: ['text/plain', 'text/html'],
        },
      },
      cost: ({ query, caller }) =>
        sessionCost(host, caller, query.session_id ?? DEFAULT_SESSION, ENTRIES_PER_COST),
      async handle(ctx) {
        const { session_id = DEFAULT_SESSION, format, log_number } = ctx.state.query;
        const wanted = checkFormat(format, ['json', 'txt', 'html']);
        const asked = { session_id, log_number };
        const report = await sealedFor(host, sealer, ctx, asked, REPORT_KIND);
        answerReport(ctx, host, report, wanted);
      },
    }),
    route({
      ...shared,
      access: 'open',
      path: '/compliance/naic/exhibit-pack/{session_id}',
      summary: 'NAIC Exhibits A, B and D mapped from a session',
      description: SEALED,
      params: Type.Object({ session_id: Name }),
      query: Type.Object({ format: formatOf(['json', 'txt']), log_number: LogNumber }),
      responses: {
        200: {
          description: 'The pack.',
          schema: served(PackSchema, packType),
          formats: ['text/plain'],
        },
      },
      cost: ({ params, caller }) => sessionCost(host, caller, params.session_id, ENTRIES_PER_COST),
      async handle(ctx) {
        const { format, log_number } = ctx.state.query;
        const wanted = checkFormat(format, ['json', 'txt']);
        const asked = { session_id: ctx.state.params.session_id, log_number };
        const pack = await sealedFor(host, sealer, ctx, asked, PACK_KIND);
        answer(ctx, pack, wanted === 'txt' ? packText(pack) : null);
      },
    }),
    systemRoute(host, sealer),
  ];
}

// A report may append an entry, so the request is limited and authorised as a write.
const shared = {
  method: 'GET',
  tag: 'compliance',
  appends: true,
  budget: 'write',
  whole: true,
  errors: ['invalid_format', 'log_unavailable', 'log_busy'],
  respond: () => ({}),
} as const;

const Decimal = Type.String({ pattern: '^(0|[1-9][0-9]{0,14})$' });

function systemRoute(host: PluginHost, sealer: Sealer): Route {
  return route({
    ...shared,
    access: 'key',
    path: '/compliance/eu-ai-act/article-12/systems/{entity}',
    summary: 'Article 12 report and checklist of a system in a period',
    description:
      'Covers all entries of the newest log, in a period of log time, that name the entity that represents the ' +
      'system. Only the owner of the entity may call it. The report is sealed and verified like that of a session. ' +
      'Events name the entity as `entity` (POST /compliance/eu-ai-act/article-12/seal).',
    params: Type.Object({ entity: EntityName }),
    query: Type.Object({
      from_ms: Type.Optional({
        ...Decimal,
        description: 'The default is the beginning of the log.',
      }),
      to_ms: Type.Optional({
        ...Decimal,
        description:
          'The default, and the largest time that is read, is that of the newest map head.',
      }),
      format: formatOf(['json', 'txt', 'html']),
    }),
    responses: {
      200: {
        description: 'The report.',
        schema: served(SystemReportSchema, systemReportType),
        formats: ['text/plain', 'text/html'],
      },
    },
    errors: [...shared.errors, 'resource_missing', 'tenant_forbidden'],
    cost: async ({ params, caller }) =>
      1 + (await chainCount(host.log(caller.kind), ['entity', params.entity])) / ENTRIES_PER_COST,
    async handle(ctx) {
      const { params, query, caller } = ctx.state;
      const wanted = checkFormat(query.format, ['json', 'txt', 'html']);
      const log = host.log(caller.kind);
      ownedBy(log, caller, params.entity);
      const subject_key = ['entity', params.entity];
      const from_ms = Number(query.from_ms ?? 0);
      const until_ms = query.to_ms === undefined ? null : Number(query.to_ms);
      if (until_ms !== null && until_ms < from_ms) {
        throw new ApiError('parameter_invalid', 'to_ms is before from_ms', { param: 'to_ms' });
      }
      const window = { from_ms, ...(until_ms === null ? {} : { to_ms: until_ms }) };
      const session = await readChain(log, subject_key, REPORT_SELECTORS, window);
      const subject: Subject = {
        ...aboutCaller(host, caller, log),
        session_id: null,
        period: { from_ms, until_ms },
        hold_entry_id: null,
        elsewhere: await closedLogsWith(host, caller, subject_key),
      };
      ctx.set('Cache-Control', 'no-store');
      const report = await sealer.seal({
        log,
        type: SYSTEM_REPORT,
        session,
        subject: { subject_key, from_ms, until_ms },
        now_ms: host.now(),
        build: (at) => reportOf(session, subject, at),
        append: (draft) => ctx.state.append([draft]),
      });
      answerReport(ctx, host, report, wanted);
    },
  });
}

/** Refuses with 404 if no tenant has claimed the entity, and with 403 if another tenant has. */
function ownedBy(log: LogView, { tenant_ref }: Caller, entity: string): void {
  const owner = log.surfaces().owner(entity);
  if (owner === tenant_ref) return;
  const param = 'entity';
  if (owner === null) {
    throw new ApiError('resource_missing', 'no tenant has claimed this entity', { param });
  }
  throw new ApiError('tenant_forbidden', 'the entity belongs to another tenant', { param });
}

/** Names of the closed logs that have entries on a chain. */
async function closedLogsWith(
  host: PluginHost,
  { kind }: Caller,
  key: readonly string[],
): Promise<readonly string[]> {
  const names: string[] = [];
  for (const log of host.logs(kind).slice(0, -1)) {
    if ((await chainCount(log, key)) > 0) names.push(logName(log));
  }
  return names;
}

/** The members of a subject that depend on the tenant and the log. */
const aboutCaller = (host: PluginHost, caller: Caller, log: LogView) => ({
  origin: log.origin,
  tenant_ref: caller.tenant_ref,
  sandbox: caller.sandbox,
  verifyUrl: (entry_id: string) => entryUrl(host, caller, 'verify', entry_id),
  vendor: host.url(''),
});

/** Answers with a report in the requested format. */
function answerReport(
  ctx: RouteContext,
  host: PluginHost,
  report: JsonObject,
  format: string,
): void {
  if (format === 'html') {
    const link = (entry_id: string): string => entryUrl(host, ctx.state.caller, 'r', entry_id);
    sendPage(ctx, reportPage(report, link));
  } else answer(ctx, report, format === 'txt' ? reportText(report) : null);
}

/** The published schema of a document, completed with the schemas of its proof and its receipt. */
function served<T extends TProperties>(shape: TObject<T>, type: EntryType): TSchema {
  const members = {
    completeness_proof: described(LookupDocument, wordsOf(shape, 'completeness_proof')),
    receipt: described(receiptOf(type), wordsOf(shape, 'receipt')),
  };
  return Type.Unsafe({ ...shape, properties: { ...shape.properties, ...members } });
}

const wordsOf = ({ properties }: TObject, name: string): string =>
  (properties[name] as { readonly description?: string }).description ?? '';

const formatOf = (formats: readonly string[]): TSchema =>
  Type.Optional(
    Type.String({ maxLength: 512, description: `${formats.join(', ')}. The default is json.` }),
  );

function checkFormat(given: unknown, formats: readonly string[]): string {
  const format = given ?? 'json';
  if (typeof format === 'string' && formats.includes(format)) return format;
  throw new ApiError('invalid_format', `format must be one of ${formats.join(', ')}`, {
    param: 'format',
  });
}

function answer(ctx: RouteContext, document: JsonObject, text: string | null): void {
  if (text === null) {
    ctx.body = document;
    return;
  }
  ctx.set('Content-Type', 'text/plain; charset=utf-8');
  ctx.body = text;
}

interface Asked {
  readonly session_id: string;
  readonly log_number: string | undefined;
}

/** Reads the session and seals the document about it. */
async function sealedFor(
  host: PluginHost,
  sealer: Sealer,
  ctx: RouteContext,
  { session_id, log_number }: Asked,
  kind: Kind,
): Promise<JsonObject> {
  const { caller } = ctx.state;
  const { log, session_ref, elsewhere } = await sealingLog(host, caller, session_id, log_number);
  const session = await readChain(log, ['session', session_ref], kind.selectors);
  const { first_ms, last_ms } = session.tally;
  const subject: Subject = {
    ...aboutCaller(host, caller, log),
    session_id,
    hold_entry_id: await holdOf(host, log.kind, caller, { session_ref, first_ms, last_ms }),
    elsewhere,
  };
  ctx.set('Cache-Control', 'no-store');
  return sealer.seal({
    log,
    type: kind.type,
    session,
    subject: { subject_key: session.key },
    now_ms: host.now(),
    build: (at) => kind.build(session, subject, at),
    append: (draft) => ctx.state.append([draft]),
  });
}

/**
 * The log of a document, which is always the newest: the commitment must be in the same log as the session, and a
 * closed log accepts no entries.
 *
 * @throws ApiError `parameter_invalid` if only an earlier log has the session
 */
async function sealingLog(
  host: PluginHost,
  caller: Caller,
  session_id: string,
  log_number: string | undefined,
): Promise<{ log: LogView; session_ref: string; elsewhere: readonly string[] }> {
  const newest = host.log(caller.kind);
  const asked = await sessionLog(host, caller, session_id, log_number);
  if (newest.number === 1) return { ...asked, elsewhere: [] };
  const having = (await sessionsOf(host, caller, session_id)).filter(({ count }) => count > 0);
  const earlier = having.filter(({ log }) => log.number !== newest.number);
  const last = earlier.at(-1);
  const isClosed = asked.log.number !== newest.number;
  if (isClosed || (last !== undefined && earlier.length === having.length)) {
    const { log, session_ref } = isClosed ? asked : (last ?? asked);
    const url = lookupUrl(host, log, ['session', session_ref]);
    const message = `${log.origin} is closed, so no document about the session can be sealed there: read its entries with their proof at ${url}`;
    const param = log_number === undefined ? 'session_id' : 'log_number';
    throw new ApiError('parameter_invalid', message, { param });
  }
  return { ...asked, elsewhere: earlier.map(({ log }) => logName(log)) };
}

function entryUrl(host: PluginHost, caller: Caller, page: 'r' | 'verify', id: string): string {
  const log = caller.sandbox ? 'log=sandbox' : '';
  if (page === 'r') return host.url(`/r/${id}${log === '' ? '' : `?${log}`}`);
  return host.url(`/verify?entry_id=${id}${log === '' ? '' : `&${log}`}`);
}
