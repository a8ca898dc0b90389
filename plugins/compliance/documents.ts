// The part of the two documents that an entry commits to, and the entry's commitment. gateway/API.md §2.2, §12.1, §12.2.
//
// The same session, time and catalogs give the same bytes. A document that did not change is not committed to twice;
// its receipt travels with it.

import { createHash } from 'node:crypto';
import { canonical, Turns } from '../contract/index.ts';
import type { Draft, Json, JsonObject, LogView } from '../contract/index.ts';
import { ARTICLE_12, NAIC } from './catalogs.ts';
import type { RowRule } from './catalogs.ts';
import { checklistOf, incidentsOf, iso, itemSelectors } from './checklist.ts';
import { sealedRow } from './entries.ts';
import type { SealedRow } from './entries.ts';
import { placedReceipt } from './session.ts';
import type { ReadSession, Tally } from './session.ts';

const DAY_MS = 86_400_000;
/** Rows that name an entry show where it is verified, for at most this many. */
const MAX_URLS = 20;

/** What a document says beside what the session shows. */
export interface Subject {
  readonly session_id: string;
  readonly origin: string;
  readonly tenant_ref: string;
  readonly sandbox: boolean;
  /** Entry id of a spoliation seal over the session. */
  readonly hold_entry_id: string | null;
  /** The page on which anyone verifies an entry. */
  verifyUrl(entry_id: string): string;
  readonly vendor: string;
  /** Names of the closed logs that have the session too: nothing of theirs is in the document. */
  readonly elsewhere: readonly string[];
}

/** When the document was sealed, and up to when the session was read for it. */
export interface SealTime {
  readonly sealed_at_ms: number;
  readonly to_ms: number;
}

/** Which entries evidence what, for one pass over the session. */
export const REPORT_SELECTORS = itemSelectors(ARTICLE_12);
export const PACK_SELECTORS: ReadonlyMap<string, readonly string[]> = new Map(
  NAIC.exhibits.flatMap(({ rows }) => rows.map(({ id, signals }) => [id, signals] as const)),
);

const json = (value: unknown): Json => value as Json;

function aboutOf(
  { session_ref, tally, entries_root }: ReadSession,
  { session_id, origin, tenant_ref, sandbox }: Subject,
  { sealed_at_ms, to_ms }: SealTime,
): JsonObject {
  const { first_ms, last_ms, count } = tally;
  return {
    session_id,
    session_ref,
    origin,
    tenant_ref,
    sandbox,
    period: {
      from: first_ms === null ? null : iso(first_ms),
      to: last_ms === null ? null : iso(last_ms),
      as_of_ms: to_ms,
    },
    entries: count,
    entries_root,
    sealed_at: iso(sealed_at_ms),
  };
}

const leftOut = ({ elsewhere }: Subject): string[] =>
  elsewhere.map((name) => `anything about the entries of the session in the closed log ${name}`);

/** The Article 12 report, without what travels beside it. */
export function reportOf(session: ReadSession, subject: Subject, at: SealTime): JsonObject {
  const { tally } = session;
  const { regulation, application, retention, incident_clocks } = ARTICLE_12;
  const { minimum_days, articles, text } = retention;
  return {
    schema: 'svc-article-12-report-v1',
    regulation: { ...regulation, application: json(application) },
    ...aboutOf(session, subject, at),
    event_counts: {
      total: tally.count,
      by_type: tally.types.all(),
      by_event_type: tally.events.all(),
    },
    classification_counts: { ...tally.classifications },
    checklist: json(checklistOf(ARTICLE_12, tally, at.sealed_at_ms)),
    retention: {
      minimum_days,
      articles: [...articles],
      text,
      retain_until: iso(at.sealed_at_ms + minimum_days * DAY_MS),
      hold_entry_id: subject.hold_entry_id,
      erased: json(tally.evidence('erased')),
    },
    incident_count: tally.incidents.length,
    incidents: json(incidentsOf(ARTICLE_12, tally)),
    incident_clocks: json(incident_clocks),
    applicability_note: ARTICLE_12.applicability_note,
    does_not_assert: [...ARTICLE_12.does_not_assert, ...leftOut(subject)],
  };
}

/** The NAIC exhibit pack, without what travels beside it. */
export function packOf(session: ReadSession, subject: Subject, at: SealTime): JsonObject {
  const exhibits = NAIC.exhibits.map(({ id, member, title, rows }): [string, JsonObject] => [
    member,
    { id, title, status: 'provided', rows: rows.map((row) => rowOf(row, session.tally, subject)) },
  ]);
  const { title, status, reason } = NAIC.exhibit_c;
  return {
    schema: 'svc-naic-exhibit-pack-v1',
    tool: { ...NAIC.tool },
    ...aboutOf(session, subject, at),
    ...Object.fromEntries(exhibits),
    exhibit_c: { title, status, reason },
    applicability_note: NAIC.applicability_note,
    does_not_assert: [...NAIC.does_not_assert, ...leftOut(subject)],
  };
}

/** A row without entries is NOT EVIDENCED, and never a zero. */
function rowOf({ id, label, values }: RowRule, tally: Tally, subject: Subject): JsonObject {
  const evidence = tally.evidence(id);
  const evidenced = evidence.count > 0;
  return {
    id,
    label,
    status: evidenced ? 'EVIDENCED' : 'NOT EVIDENCED',
    value: evidenced ? valueOf(values, evidence.count, tally, subject) : null,
    evidence: json(evidence),
    verify_urls: evidence.entry_ids
      .slice(0, MAX_URLS)
      .map((entry_id) => subject.verifyUrl(entry_id)),
  };
}

function valueOf(values: RowRule['values'], count: number, tally: Tally, subject: Subject): Json {
  switch (values) {
    case 'classifications':
      return { ...tally.classifications };
    case 'domains':
      return tally.domains.all();
    case 'models':
      return tally.models.all();
    case 'policy_versions':
      return tally.policies.all();
    case 'vendor':
      return subject.vendor;
    case 'count':
    case undefined:
      return count;
  }
}

/** What one request wants sealed. */
interface SealRequest {
  readonly log: LogView;
  /** The type of the entry that commits to it. */
  readonly type: string;
  readonly session: ReadSession;
  readonly now_ms: number;
  /** What the document says, sealed at a time; the same for the same session and time. */
  readonly build: (at: SealTime) => JsonObject;
  readonly append: (draft: Draft) => Promise<void>;
}

const hashOf = (document: JsonObject): string =>
  createHash('sha256').update(canonical(document)).digest('hex');

/** Seals documents of one gateway. */
export class Sealer {
  /** Serialises requests for one document: the second finds it sealed. */
  readonly #turns = new Turns();

  /** The document with its proof, checkpoint, signature and receipt. */
  async seal(request: SealRequest): Promise<JsonObject> {
    const { log, type, session } = request;
    const turn = `${log.origin} ${sealedRow(type, session.session_ref)}`;
    const { document, index } = await this.#turns.run(() => sealedDocument(request), turn);
    const receipt = await placedReceipt(log, index);
    return {
      ...document,
      completeness_proof: session.completeness,
      checkpoint: session.completeness['checkpoint'] ?? null,
      signature: receipt['signature'] ?? null,
      receipt,
    };
  }
}

async function sealedDocument({
  log,
  type,
  session,
  now_ms,
  build,
  append,
}: SealRequest): Promise<{ readonly document: JsonObject; readonly index: number }> {
  const name = sealedRow(type, session.session_ref);
  const fresh = { sealed_at_ms: now_ms, to_ms: session.to_ms };
  const document = build(fresh);
  const known = log.row(name) as unknown as SealedRow | undefined;
  if (known?.entries === session.tally.count) {
    const again = build(known);
    // Time alone may change what a checklist says: then it is another document.
    if (hashOf(again) === known.document_sha256 && sameBut(document, again)) {
      return { document: again, index: known.index };
    }
  }
  await append({
    type,
    members: {
      subject_key: [...session.key],
      entries: session.tally.count,
      ...fresh,
      document_sha256: hashOf(document),
    },
  });
  const row = log.row(name) as unknown as SealedRow | undefined;
  if (row === undefined) throw new Error(`no row of the ${type} that was appended`);
  return { document, index: row.index };
}

/** Whether two documents say the same of a checklist; where there is none they do. */
const sameBut = (a: JsonObject, b: JsonObject): boolean =>
  canonical(a['checklist'] ?? null) === canonical(b['checklist'] ?? null);
