// Rows about an insured: its newest classification or gate decision, its findings (CRISIS, VIOLATION) as a linked list,
// and the resolutions of findings. gateway/API.md §8.3. Projections are pure, so that a reindex rebuilds the rows.

import { RESULT } from '../classify/index.ts';
import type { Json, LogView, RowReader, RowWriter, Sequenced, Watch } from '../contract/index.ts';
import { isDecision } from '../gate/index.ts';

/** Classifications that block, in the order of a check's reasons. */
export const FINDINGS = ['CRISIS', 'VIOLATION'] as const;

/** One of `FINDINGS`. */
export type Finding = (typeof FINDINGS)[number];

/** Whether a classification is a finding. */
export const isFinding = (what: unknown): what is Finding =>
  (FINDINGS as readonly unknown[]).includes(what);

/** An entry of one of the logs of a kind. */
export interface Entry {
  readonly entry_id: string;
  readonly index: number;
  readonly log_number: number;
}

/** A classification or gate decision about an insured; `what` is its classification or outcome. */
export interface Seen extends Entry {
  readonly ms: number;
  readonly what: string;
}

/** The stored form; the entry is in the log that has the row. */
type SeenRow = Omit<Seen, 'log_number'>;

/** Row of a subject: its newest classification or decision, and its newest finding of each kind. */
type SubjectRow = { readonly newest: SeenRow } & Readonly<Partial<Record<Finding, SeenRow>>>;

/** Row of a finding, with the entry ids of the previous findings of the same kind of its tenant and of its entity. */
interface FindingRow extends SeenRow {
  readonly before: { readonly tenant: string | null; readonly entity: string | null };
}

/** Row of the resolution of a finding. */
interface ResolutionRow {
  readonly entry_id: string;
  readonly index: number;
}

/** The owner of findings: an entity, or the tenant if `entity` is null. */
export interface Subject {
  readonly entity: string | null;
  readonly tenant_ref: string;
}

const subjectRow = ({ entity, tenant_ref }: Subject): string =>
  entity === null ? `subject/tenant/${tenant_ref}` : `subject/entity/${entity}`;

const findingRow = (entry_id: string): string => `finding/${entry_id}`;

/** Row of a tenant's resolution of a finding. It applies only to that tenant. */
const resolutionRow = (tenant_ref: string, finding_id: string): string =>
  `resolution/${tenant_ref}/${finding_id}`;

/** Read access to the rows of this plugin in one log. */
export interface Shelf {
  readonly log_number: number;
  readonly get: (row: string) => Json | undefined;
}

/**
 * The rows of all logs, newest first; those of the newest log at a sequence point. Checks read all of them, because
 * findings in closed logs still count.
 */
export const shelvesAt = (
  rows: RowReader,
  log: LogView,
  logs: readonly LogView[],
): readonly Shelf[] => [
  { log_number: log.number, get: (row) => rows.get(`carrier/${row}`) },
  ...logs
    .filter(({ number }) => number < log.number)
    .toReversed()
    .map((earlier) => ({ log_number: earlier.number, get: (row: string) => earlier.row(row) })),
];

/** The newest classification or decision of a subject. */
export function newestOf(shelves: readonly Shelf[], subject: Subject): Seen | null {
  for (const { log_number, get } of shelves) {
    const row = get(subjectRow(subject)) as SubjectRow | undefined;
    if (row !== undefined) return { ...row.newest, log_number };
  }
  return null;
}

/** The findings of a subject of one kind, newest first. */
export function* findingsOf(
  shelves: readonly Shelf[],
  subject: Subject,
  what: Finding,
): Generator<Seen> {
  const side = subject.entity === null ? 'tenant' : 'entity';
  for (const { log_number, get } of shelves) {
    const newest = (get(subjectRow(subject)) as SubjectRow | undefined)?.[what];
    for (let entry_id = newest?.entry_id ?? null; entry_id !== null;) {
      const { before, ...seen } = get(findingRow(entry_id)) as unknown as FindingRow;
      yield { ...seen, log_number };
      entry_id = before[side];
    }
  }
}

/** A tenant's resolution of a finding; null if there is none. */
export function resolutionOf(
  shelves: readonly Shelf[],
  tenant_ref: string,
  { entry_id }: Pick<Entry, 'entry_id'>,
): Entry | null {
  for (const { log_number, get } of shelves) {
    const row = get(resolutionRow(tenant_ref, entry_id)) as ResolutionRow | undefined;
    if (row !== undefined) return { ...row, log_number };
  }
  return null;
}

/** The state of the findings of one kind. */
export interface Standing {
  /** The newest unresolved finding. */
  readonly open: Seen | null;
  /** The newest finding and its resolution; null if the newest finding is unresolved. */
  readonly resolved: { readonly finding: Seen; readonly resolution: Entry } | null;
}

/**
 * The state of a subject's findings since a time. Reads two rows for each resolved finding that is newer than the open
 * one.
 */
export function standingOf(
  shelves: readonly Shelf[],
  subject: Subject,
  what: Finding,
  { tenant_ref, since_ms }: { readonly tenant_ref: string; readonly since_ms: number },
): Standing {
  let resolved: Standing['resolved'] = null;
  for (const finding of findingsOf(shelves, subject, what)) {
    if (finding.ms < since_ms) break;
    const resolution = resolutionOf(shelves, tenant_ref, finding);
    if (resolution === null) return { open: finding, resolved };
    resolved ??= { finding, resolution };
  }
  return { open: null, resolved };
}

/** The row form of a classification or gate decision; null for other entries. */
export function seenIn({
  type,
  entry_id,
  index,
  issued_at_ms,
  statement,
}: Sequenced): SeenRow | null {
  if (type !== RESULT && !isDecision(type)) return null;
  const { classification, outcome } = statement;
  const what = (classification ?? outcome) as string;
  return { entry_id, index, ms: issued_at_ms, what };
}

/** Projects the classifications and gate decisions of all tenants. */
export const findings: Watch = { project };

function project(entry: Sequenced, rows: RowWriter): void {
  const seen = seenIn(entry);
  if (seen === null) return;
  const { tenant_ref, entity } = entry.statement as { tenant_ref: string; entity?: string };
  const before = {
    tenant: note(rows, { entity: null, tenant_ref }, seen),
    entity: entity === undefined ? null : note(rows, { entity, tenant_ref }, seen),
  };
  if (!isFinding(seen.what)) return;
  rows.put(`carrier/${findingRow(seen.entry_id)}`, { ...seen, before } satisfies FindingRow);
}

/** Updates the row of a subject. Returns the entry id of its previous finding of the same kind. */
function note(rows: RowWriter, subject: Subject, seen: SeenRow): string | null {
  const key = `carrier/${subjectRow(subject)}`;
  const known = rows.get(key) as SubjectRow | undefined;
  const finding = isFinding(seen.what) ? { [seen.what]: seen } : {};
  rows.put(key, { ...known, newest: seen, ...finding });
  return isFinding(seen.what) ? (known?.[seen.what]?.entry_id ?? null) : null;
}

/** Projects `carrier.finding_resolution.v1`. */
export function projectResolution(
  { entry_id, index, statement }: Sequenced,
  rows: RowWriter,
): void {
  const { tenant_ref, finding_id } = statement as { tenant_ref: string; finding_id: string };
  rows.put(`carrier/${resolutionRow(tenant_ref, finding_id)}`, { entry_id, index });
}
