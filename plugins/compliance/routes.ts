// GET /compliance/eu-ai-act/article-12 and GET /compliance/naic/exhibit-pack/{session_id}. gateway/API.md §4.3, §12.
//
// The report is also a page to read and print: the same object as the JSON, every text escaped, without scripts and
// inline styles.

import { readFileSync } from 'node:fs';
import { Eta } from 'eta';
import { Type } from 'typebox';
import type { TObject, TProperties, TSchema } from 'typebox';
import {
  ApiError,
  described,
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
import restraint from '../restraint/index.ts';
import { PACK_SELECTORS, packOf, REPORT_SELECTORS, reportOf, Sealer } from './documents.ts';
import type { SealTime, Subject } from './documents.ts';
import { PACK, packType, REPORT, reportType } from './entries.ts';
import { DEFAULT_SESSION } from './event.ts';
import { readSession } from './session.ts';
import type { ReadSession } from './session.ts';
import { PackSchema, ReportSchema } from './shapes.ts';
import { packText, printable, reportText, spoken } from './text.ts';

/** Where the page's style sheet is served. */
const STYLE_PATH = '/compliance/report.css';

const eta = new Eta({ autoEscape: true, autoTrim: false });
const template = eta.compile(readFileSync(new URL('./report.eta', import.meta.url), 'utf8'));

/** The page; `entryUrl` says where an entry is shown. */
function reportPage(report: JsonObject, entryUrl: (entry_id: string) => string): string {
  return eta.render(template, { report, entryUrl, printable, spoken, style: STYLE_PATH });
}

/** A kind of document: how its session is read and what it says. */
interface Kind {
  readonly type: string;
  readonly selectors: ReadonlyMap<string, readonly string[]>;
  build(session: ReadSession, subject: Subject, at: SealTime): JsonObject;
}

/** Entries of a session that are read in what a cost of 1 stands for. */
const ENTRIES_IN_ONE = 300;

const REPORT_KIND: Kind = { type: REPORT, selectors: REPORT_SELECTORS, build: reportOf };
const PACK_KIND: Kind = { type: PACK, selectors: PACK_SELECTORS, build: packOf };

const SEALED =
  'The document is committed to by an entry of the log (`receipt`) when it changed since it was last asked ' +
  'for, and it carries the proof that no entry of the session is left out. `actlog verify` checks both offline. ' +
  'A session without a key is the shared one of the tenant `public`. A document is of one log, the newest: a session ' +
  'that an earlier one has too is asked with `log_number`.';

/** The routes of the documents, and the style sheet of the page. */
export function documentRoutes(host: PluginHost): readonly Route[] {
  const sealer = new Sealer();
  const Name = Type.String({ minLength: 1, maxLength: host.limits.string_chars });
  // A report may write an entry: it counts, and is allowed, as a write.
  const shared = {
    method: 'GET',
    tag: 'compliance',
    access: 'open',
    appends: true,
    budget: 'write',
    whole: true,
    errors: ['invalid_format', 'log_unavailable', 'log_busy'],
    respond: () => ({}),
  } as const;
  return [
    route({
      ...shared,
      path: '/compliance/eu-ai-act/article-12',
      summary: 'Article 12 seal report and checklist of a session',
      description: SEALED,
      query: Type.Object({
        session_id: Type.Optional({ ...Name, description: `\`${DEFAULT_SESSION}\` unless given.` }),
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
        sessionCost(host, caller, query.session_id ?? DEFAULT_SESSION, ENTRIES_IN_ONE),
      async handle(ctx) {
        const { session_id = DEFAULT_SESSION, format, log_number } = ctx.state.query;
        const wanted = checkFormat(format, ['json', 'txt', 'html']);
        const asked = { session_id, log_number };
        const report = await sealedFor(host, sealer, ctx, asked, REPORT_KIND);
        if (wanted === 'html') {
          const link = (entry_id: string): string =>
            entryUrl(host, ctx.state.caller, 'r', entry_id);
          sendPage(ctx, reportPage(report, link));
        } else answer(ctx, report, wanted === 'txt' ? reportText(report) : null);
      },
    }),
    route({
      ...shared,
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
      cost: ({ params, caller }) => sessionCost(host, caller, params.session_id, ENTRIES_IN_ONE),
      async handle(ctx) {
        const { format, log_number } = ctx.state.query;
        const wanted = checkFormat(format, ['json', 'txt']);
        const asked = { session_id: ctx.state.params.session_id, log_number };
        const pack = await sealedFor(host, sealer, ctx, asked, PACK_KIND);
        answer(ctx, pack, wanted === 'txt' ? packText(pack) : null);
      },
    }),
    styleRoute(),
  ];
}

/** A document's published shape with what it is of: the shape leaves the documents within it open. */
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
    Type.String({ maxLength: 512, description: `${formats.join(', ')}; json unless given.` }),
  );

function checkFormat(given: unknown, formats: readonly string[]): string {
  const format = given ?? 'json';
  if (typeof format === 'string' && formats.includes(format)) return format;
  throw new ApiError('invalid_format', `format is one of ${formats.join(', ')}`, {
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

/** Reads the session, seals what it comes to, and puts the proofs beside it. */
async function sealedFor(
  host: PluginHost,
  sealer: Sealer,
  ctx: RouteContext,
  { session_id, log_number }: Asked,
  kind: Kind,
): Promise<JsonObject> {
  const { caller } = ctx.state;
  const { log, session_ref, elsewhere } = await sealingLog(host, caller, session_id, log_number);
  const session = await readSession(log, session_ref, kind.selectors);
  const subject: Subject = {
    session_id,
    origin: log.origin,
    tenant_ref: caller.tenant_ref,
    sandbox: caller.sandbox,
    hold_entry_id: await holdOf(host, log, caller, session),
    verifyUrl: (entry_id) => entryUrl(host, caller, 'verify', entry_id),
    vendor: host.url(''),
    elsewhere,
  };
  ctx.set('Cache-Control', 'no-store');
  return sealer.seal({
    log,
    type: kind.type,
    session,
    now_ms: host.now(),
    build: (at) => kind.build(session, subject, at),
    append: (draft) => ctx.state.append([draft]),
  });
}

/**
 * The log of a document, which is always the newest: a document and the entry that commits to it are of one log, and
 * a closed one takes no entries.
 *
 * @throws ApiError `parameter_invalid` where only an earlier log has the session
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
    const message = `${log.origin} is closed and seals no document of the session: ${url} has its entries with their proof`;
    const param = log_number === undefined ? 'session_id' : 'log_number';
    throw new ApiError('parameter_invalid', message, { param });
  }
  return { ...asked, elsewhere: earlier.map(({ log }) => logName(log)) };
}

/** The spoliation seal over the session's last or first entry, or null. */
async function holdOf(
  host: PluginHost,
  log: LogView,
  { tenant_ref }: Caller,
  { session_ref, tally }: ReadSession,
): Promise<string | null> {
  const holds = host.use(restraint);
  for (const issued_at_ms of new Set([tally.last_ms, tally.first_ms])) {
    if (issued_at_ms === null) continue;
    const hold = await holds.holdOver(log.kind, { tenant_ref, session_ref, issued_at_ms });
    if (hold !== null) return hold.entry_id;
  }
  return null;
}

function entryUrl(host: PluginHost, caller: Caller, page: 'r' | 'verify', id: string): string {
  const log = caller.sandbox ? 'log=sandbox' : '';
  if (page === 'r') return host.url(`/r/${id}${log === '' ? '' : `?${log}`}`);
  return host.url(`/verify?entry_id=${id}${log === '' ? '' : `&${log}`}`);
}

function styleRoute(): Route {
  const style = readFileSync(new URL('./report.css', import.meta.url), 'utf8');
  return route({
    method: 'GET',
    path: STYLE_PATH,
    tag: 'compliance',
    summary: 'The style sheet of reports',
    access: 'read',
    responses: { 200: { description: 'The sheet.', type: 'text/css; charset=utf-8' } },
    handle(ctx) {
      ctx.set('Cache-Control', 'public, max-age=300');
      ctx.set('Content-Type', 'text/css; charset=utf-8');
      ctx.body = style;
    },
  });
}
