// Builds the Article 12 report and the NAIC exhibit pack, and seals them: an entry commits to the SHA-256 of the
// document. gateway/API.md §2.2, §12.1, §12.2.
//
// The same session, time and catalogs give the same bytes. If a document has not changed since it was sealed, the
// existing commitment is used again.

import { createHash } from 'node:crypto';
import { canonical, Turns } from '../contract/index.ts';
import type { Draft, Json, JsonObject, LogView } from '../contract/index.ts';
import { ARTICLE_12, NAIC } from './catalogs.ts';
import type { RowRule } from './catalogs.ts';
import { checklistOf, incidentsOf, iso, itemSelectors } from './checklist.ts';
import { sealedRow } from './entries.ts';
import type { SealedRow, SealedSubject } from './entries.ts';
import { placedReceipt } from './session.ts';
import type { ReadChain, Tally } from './session.ts';

const DAY_MS = 86_400_000;
/** Largest number of verification URLs in a row. */
const MAX_URLS = 20;

/** The input of a document beside the entries. */
export interface Subject {
  /** Null for a document about a system, whose entity is the name of the chain. */
  readonly session_id: string | null;
  /** The requested period of a document about a system. */
  readonly period?: { readonly from_ms: number; readonly until_ms: number | null };
  readonly origin: string;
  readonly tenant_ref: string;
  readonly sandbox: boolean;
  /** Entry id of a spoliation seal over the session. */
  readonly hold_entry_id: string | null;
  /** The page on which anyone verifies an entry. */
  verifyUrl(entry_id: string): string;
  readonly vendor: string;
  /** Names of the closed logs that also have entries of the session, which the document does not include. */
  readonly elsewhere: readonly string[];
}

/** The time of the seal, and the log time up to which the session was read. */
export interface SealTime {
  readonly sealed_at_ms: number;
  readonly to_ms: number;
}

/** Names and their signals, for one pass over the entries. */
export const REPORT_SELECTORS = itemSelectors(ARTICLE_12);
export const PACK_SELECTORS: ReadonlyMap<string, readonly string[]> = new Map(
  NAIC.exhibits.flatMap(({ rows }) => rows.map(({ id, signals }) => [id, signals] as const)),
);

const json = (value: unknown): Json => value as Json;

function aboutOf(
  { key, tally, entries_root }: ReadChain,
  { session_id, period, origin, tenant_ref, sandbox }: Subject,
  { sealed_at_ms, to_ms }: SealTime,
): JsonObject {
  const { first_ms, last_ms, count } = tally;
  const [, name = ''] = key;
  return {
    ...(session_id === null ? { entity: name } : { session_id, session_ref: name }),
    origin,
    tenant_ref,
    sandbox,
    period: {
      from: first_ms === null ? null : iso(first_ms),
      to: last_ms === null ? null : iso(last_ms),
      as_of_ms: to_ms,
      ...period,
    },
    entries: count,
    entries_root,
    sealed_at: iso(sealed_at_ms),
  };
}

const leftOut = ({ elsewhere, session_id }: Subject): string[] => {
  const of = session_id === null ? 'system' : 'session';
  return elsewhere.map(
    (name) => `anything about the entries of the ${of} in the closed log ${name}`,
  );
};

/** The Article 12 report of a session or of a system, without its proofs and its receipt. */
export function reportOf(session: ReadChain, subject: Subject, at: SealTime): JsonObject {
  const { tally } = session;
  const { regulation, application, retention, incident_clocks } = ARTICLE_12;
  const { minimum_days, articles, text } = retention;
  const isSystem = subject.session_id === null;
  const { applicability_note, does_not_assert } = isSystem ? ARTICLE_12.system : ARTICLE_12;
  return {
    schema: isSystem ? 'svc-article-12-system-report-v1' : 'svc-article-12-report-v1',
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
      ...(isSystem ? {} : { hold_entry_id: subject.hold_entry_id }),
      erased: json(tally.evidence('erased')),
    },
    incident_count: tally.incidents.length,
    incidents: json(incidentsOf(ARTICLE_12, tally)),
    incident_clocks: json(incident_clocks),
    applicability_note,
    does_not_assert: [...does_not_assert, ...leftOut(subject)],
  };
}

/** The NAIC exhibit pack, without its proofs and its receipt. */
export function packOf(session: ReadChain, subject: Subject, at: SealTime): JsonObject {
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

/** A row of an exhibit. Without entries its status is NOT EVIDENCED and its value null, never 0. */
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

/** A document to seal. */
interface SealRequest {
  readonly log: LogView;
  /** Name of the entry type of the commitment. */
  readonly type: string;
  readonly session: ReadChain;
  /** The subject of the document. */
  readonly subject: SealedSubject;
  readonly now_ms: number;
  /** Builds the document; deterministic in the session and the time. */
  readonly build: (at: SealTime) => JsonObject;
  readonly append: (draft: Draft) => Promise<void>;
}

const hashOf = (document: JsonObject): string =>
  createHash('sha256').update(canonical(document)).digest('hex');

/** Seals the documents of a gateway. */
export class Sealer {
  /** Serialises requests for the same document, so that only the first one appends a commitment. */
  readonly #turns = new Turns();

  /** The document with its proof, checkpoint, signature and receipt. */
  async seal(request: SealRequest): Promise<JsonObject> {
    const { log, type, session, subject } = request;
    const turn = `${log.origin} ${sealedRow(type, subject)}`;
    const { document, index } = await this.#turns.run(() => sealedDocument(request), turn);
    const receipt = await placedReceipt(log, index);
    return {
      ...document,
      completeness_proof: session.completeness,
      ...(session.opening === null ? {} : { opening_proof: session.opening }),
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
  subject,
  now_ms,
  build,
  append,
}: SealRequest): Promise<{ readonly document: JsonObject; readonly index: number }> {
  const name = sealedRow(type, subject);
  const fresh = { sealed_at_ms: now_ms, to_ms: session.to_ms };
  const document = build(fresh);
  const known = log.row(name) as unknown as SealedRow | undefined;
  if (known?.entries === session.tally.count) {
    const again = build(known);
    // The checklist can change by the passing of time alone; the document is then sealed again.
    if (hashOf(again) === known.document_sha256 && hasSameChecklist(document, again)) {
      return { document: again, index: known.index };
    }
  }
  await append({
    type,
    members: {
      ...(subject as unknown as JsonObject),
      entries: session.tally.count,
      ...fresh,
      document_sha256: hashOf(document),
    },
  });
  const row = log.row(name) as unknown as SealedRow | undefined;
  if (row === undefined) throw new Error(`the appended ${type} has no row`);
  return { document, index: row.index };
}

/** Whether two documents have the same checklist or have none. */
const hasSameChecklist = (a: JsonObject, b: JsonObject): boolean =>
  canonical(a['checklist'] ?? null) === canonical(b['checklist'] ?? null);
