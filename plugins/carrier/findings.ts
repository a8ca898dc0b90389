// What is known of an insured: the newest classification or decision, the newest CRISIS and the newest VIOLATION, of
// each tenant and each entity, kept as the entries come. gateway/API.md §8.3. Pure, so that a reindex rebuilds it.

import { RESULT } from '../classify/index.ts';
import type {
  Json,
  JsonObject,
  RowReader,
  RowWriter,
  Sequenced,
  Watch,
} from '../contract/index.ts';
import { DECISION } from '../gate/index.ts';

/** An entry about an insured; `what` is its classification, or its outcome where it has none. */
export interface Seen {
  readonly entry_id: string;
  readonly index: number;
  readonly ms: number;
  readonly what: string;
}

/** What is known of one insured. */
export interface Known {
  readonly newest: Seen | null;
  readonly crisis: Seen | null;
  readonly violation: Seen | null;
}

/** Nothing was logged. */
const NOTHING: Known = { newest: null, crisis: null, violation: null };

/** Whose findings: an entity's, or a tenant's where that is null. */
export interface Subject {
  readonly entity: string | null;
  readonly tenant_ref: string;
}

/** Row of a subject, as the plugin reads it; with `carrier/` before it elsewhere. */
export const subjectRow = ({ entity, tenant_ref }: Subject): string =>
  entity === null ? `subject/tenant/${tenant_ref}` : `subject/entity/${entity}`;

/** Out of a row. */
export const knownOf = (row: Json | undefined): Known =>
  row === undefined ? NOTHING : (row as unknown as Known);

/** What is known of a subject at a sequence point. */
export const knownAt = (rows: RowReader, subject: Subject): Known =>
  knownOf(rows.get(`carrier/${subjectRow(subject)}`));

/** What an entry says about its tenant and entity; null where it is neither classification nor decision. */
export function seenIn({ type, entry_id, index, issued_at_ms, statement }: Sequenced): Seen | null {
  if (type !== RESULT && type !== DECISION) return null;
  const { classification, outcome } = statement;
  const what = (classification ?? outcome) as string;
  return { entry_id, index, ms: issued_at_ms, what };
}

/** Follows the classifications and decisions of all tenants. */
export const findings: Watch = { project };

function project(entry: Sequenced, rows: RowWriter): void {
  const seen = seenIn(entry);
  if (seen === null) return;
  const { tenant_ref, entity } = entry.statement as { tenant_ref: string; entity?: string };
  note(rows, { entity: null, tenant_ref }, seen);
  if (entity !== undefined) note(rows, { entity, tenant_ref }, seen);
}

function note(rows: RowWriter, subject: Subject, seen: Seen): void {
  const known: Known = {
    ...knownAt(rows, subject),
    newest: seen,
    ...(seen.what === 'CRISIS' ? { crisis: seen } : {}),
    ...(seen.what === 'VIOLATION' ? { violation: seen } : {}),
  };
  rows.put(`carrier/${subjectRow(subject)}`, known as unknown as JsonObject);
}
