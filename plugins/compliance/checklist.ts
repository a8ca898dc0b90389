// The checklist of Article 12 and the clocks of Article 73, computed by pure functions from a tally and the catalog.
// An item without evidence is never `met`. gateway/API.md §12.1.

import type { ArticleCatalog, ItemRule, Status } from './catalogs.ts';
import type { Evidence, IncidentEvent, Tally } from './session.ts';

const DAY_MS = 86_400_000;
/** Largest number of incidents that a report lists. Its counts include all. */
export const MAX_INCIDENTS = 100;

/** One line of the checklist. */
export interface Item {
  readonly id: string;
  readonly title: string;
  readonly requirement: string;
  readonly status: Status;
  readonly evidence: Evidence;
  readonly note: string;
}

/** An incident, its due dates and its report. */
interface Incident {
  readonly entry_id: string;
  readonly at: string;
  readonly kind: string | null;
  /** Due dates by the name of the clock. */
  readonly clocks: Readonly<Record<string, string>>;
  /** The clock of its kind; null if the event states no kind, in which case the shortest clock applies. */
  readonly applies: string | null;
  readonly reported_entry_id: string | null;
  readonly reported_at: string | null;
  readonly reported_in_time: boolean;
}

/** Selectors of a tally for the items of a catalog. */
export function itemSelectors({ items }: ArticleCatalog): Map<string, readonly string[]> {
  const selectors = new Map<string, readonly string[]>([['erased', ['erased']]]);
  for (const { id, groups } of items) {
    selectors.set(id, groups.flat());
    for (const [i, group] of groups.entries()) selectors.set(groupName(id, i), group);
  }
  return selectors;
}

const groupName = (id: string, i: number): string => `${id}#${String(i)}`;

/** The items in the order of the catalog. */
export function checklistOf(catalog: ArticleCatalog, tally: Tally, at_ms: number): Item[] {
  return catalog.items.map((rule) => {
    const status = statusOf(catalog, rule, tally, at_ms);
    const { id, title, requirement, notes } = rule;
    const evidence = tally.evidence(status === 'not_applicable' ? '' : id);
    return { id, title, requirement, status, evidence, note: notes[status] ?? '' };
  });
}

function statusOf(catalog: ArticleCatalog, rule: ItemRule, tally: Tally, at_ms: number): Status {
  const { id, groups, annex_iii_point } = rule;
  if (annex_iii_point !== undefined && !tally.annex_iii_points.has(annex_iii_point)) {
    return 'not_applicable';
  }
  const found = groups.filter((_, i) => tally.evidence(groupName(id, i)).count > 0).length;
  if (found === 0) return 'not_evidenced';
  if (rule.rule === 'retention') {
    const kept_ms = at_ms - (tally.first_ms ?? at_ms);
    return kept_ms >= catalog.retention.minimum_days * DAY_MS ? 'met' : 'partial';
  }
  if (rule.rule === 'incidents') {
    const incidents = clocksOf(catalog, tally);
    if (incidents.length === 0) return 'not_evidenced';
    return incidents.every(({ incident }) => incident.reported_in_time) ? 'met' : 'partial';
  }
  return found === groups.length ? 'met' : 'partial';
}

/** The incidents of a session, oldest first, at most MAX_INCIDENTS of them. */
export const incidentsOf = (catalog: ArticleCatalog, tally: Tally): Incident[] =>
  clocksOf(catalog, tally, MAX_INCIDENTS).map(({ incident }) => incident);

/** An incident with the time by which its report is due. */
interface Clocked {
  readonly incident: Incident;
  readonly due_ms: number;
}

/** The incidents of a session with their clocks (Article 73), oldest first. */
export function clocksOf(catalog: ArticleCatalog, tally: Tally, limit = Infinity): Clocked[] {
  const reports = reportsByIncident(tally);
  return tally.incidents.slice(0, limit).map((incident) => {
    const { entry_id, at_ms, kind } = incident;
    const clocks = catalog.incident_clocks.map(({ id, days, kinds }) => ({
      id,
      due_ms: at_ms + days * DAY_MS,
      own: kind !== null && kinds.includes(kind),
    }));
    const own = clocks.find((clock) => clock.own);
    const due_ms = own?.due_ms ?? Math.min(...clocks.map((clock) => clock.due_ms));
    const report = reports.get(entry_id) ?? null;
    const shown = {
      entry_id,
      at: iso(at_ms),
      kind,
      clocks: Object.fromEntries(clocks.map((clock) => [clock.id, iso(clock.due_ms)])),
      applies: own?.id ?? null,
      reported_entry_id: report?.entry_id ?? null,
      reported_at: report === null ? null : iso(report.at_ms),
      reported_in_time: report !== null && report.at_ms <= due_ms,
    };
    return { incident: shown, due_ms };
  });
}

/**
 * The first report of each incident. A report that names no incident counts for every earlier incident that no report
 * names.
 */
function reportsByIncident({ incidents, incident_reports }: Tally): Map<string, IncidentEvent> {
  const reports = new Map<string, IncidentEvent>();
  for (const report of incident_reports) {
    if (report.about !== null && !reports.has(report.about)) reports.set(report.about, report);
  }
  const general = incident_reports.filter(({ about }) => about === null);
  let next = 0;
  for (const { entry_id } of incidents) {
    // Both lists are in the order of the log, in which entry ids ascend.
    while ((general[next]?.entry_id ?? '~') < entry_id) next += 1;
    const later = general[next];
    if (later !== undefined && !reports.has(entry_id)) reports.set(entry_id, later);
  }
  return reports;
}

/** Formats a time as RFC 3339 in UTC, or in milliseconds if it is beyond the range of Date. */
export function iso(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${String(ms)} ms` : date.toISOString();
}
