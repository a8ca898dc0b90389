// The two documents as plain text, rendered from the JSON object. Line breaks and control characters in names that
// callers chose are escaped, so that they cannot forge a line. gateway/API.md §12.1, §12.2; NAIC AI Systems Evaluation
// Tool.

import type { JsonObject } from '../contract/index.ts';
import { iso } from './checklist.ts';
import type { Item } from './checklist.ts';
import type { Evidence } from './session.ts';

/** Escapes the characters of a text that do not print or that change the direction of a line. */
export const printable = (text: string): string =>
  text.replace(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );

/** A status for readers: `not_evidenced` becomes NOT EVIDENCED. */
export const spoken = (status: string): string => status.replaceAll('_', ' ').toUpperCase();

/** The Article 12 report as text. */
export function reportText(report: JsonObject): string {
  const { regulation, checklist, event_counts, classification_counts, retention, incidents } =
    report as unknown as ReportView;
  return lines([
    `ARTICLE ${regulation.article} — ${regulation.title.toUpperCase()}`,
    regulation.name,
    '',
    ...aboutLines(report),
    '',
    'EVENTS',
    ...countLines(event_counts.by_type),
    ...countLines(event_counts.by_event_type, 'event '),
    '',
    'CLASSIFICATIONS',
    ...countLines(classification_counts),
    '',
    'CHECKLIST',
    ...checklist.flatMap((item) => [
      `[${spoken(item.status)}] ${item.id} ${item.title}`,
      `    ${item.requirement}`,
      `    ${item.note}`,
      ...evidenceLines(item.evidence),
    ]),
    '',
    'RETENTION',
    `  ${retention.text} (Article ${retention.articles.join(', ')})`,
    `  retain until: ${retention.retain_until}`,
    ...(retention.hold_entry_id === undefined
      ? []
      : [`  spoliation hold: ${retention.hold_entry_id ?? 'none'}`]),
    `  texts erased on request: ${String(retention.erased.count)}`,
    '',
    'INCIDENTS',
    ...(incidents.length === 0 ? ['  none recorded; this does not show that none happened'] : []),
    ...incidents.flatMap(({ entry_id, at, kind, clocks, reported_at }) => [
      `  ${entry_id} at ${at}, ${kind ?? 'kind not stated'}`,
      `    ${Object.entries(clocks)
        .map(([name, due]) => `${name} ${due}`)
        .join(', ')}`,
      `    reported: ${reported_at ?? 'NOT EVIDENCED'}`,
    ]),
    '',
    ...endLines(report),
  ]);
}

/** The NAIC exhibit pack as text. */
export function packText(pack: JsonObject): string {
  const { tool, exhibit_a, exhibit_b, exhibit_c, exhibit_d } = pack as unknown as PackView;
  const exhibit = ({ id, title, rows }: ExhibitView): string[] => [
    `EXHIBIT ${id} — ${title.toUpperCase()}`,
    ...rows.flatMap(({ id: row, label, status, value, evidence }) => [
      `${row} ${label}: ${status === 'EVIDENCED' ? shown(value) : status}`,
      ...evidenceLines(evidence),
    ]),
    '',
  ];
  return lines([
    `${tool.name} — ${tool.version}`,
    tool.status,
    '',
    ...aboutLines(pack),
    '',
    ...exhibit(exhibit_a),
    ...exhibit(exhibit_b),
    `EXHIBIT C — ${exhibit_c.title.toUpperCase()}`,
    `NOT PROVIDED: ${exhibit_c.reason}`,
    '',
    ...exhibit(exhibit_d),
    ...endLines(pack),
  ]);
}

function shown(value: PackValue): string {
  if (typeof value !== 'object' || value === null) return printable(String(value));
  return Object.entries(value)
    .map(([name, count]) => `${printable(name)} ${String(count)}`)
    .join(', ');
}

function aboutLines(document: JsonObject): string[] {
  const { period, ...about } = document as unknown as AboutView;
  const named =
    about.entity === undefined
      ? [
          `session:      ${printable(about.session_id ?? '')}`,
          `session_ref:  ${about.session_ref ?? ''}`,
        ]
      : [`entity:       ${about.entity}`, `requested:    ${asked(period)}`];
  return [
    ...named,
    `log:          ${about.origin}${about.sandbox ? ' (sandbox)' : ''}`,
    `tenant_ref:   ${about.tenant_ref}`,
    `period:       ${period.from === null ? 'no entries' : `${period.from} to ${period.to ?? ''}`}`,
    `entries:      ${String(about.entries)}`,
    `entries_root: ${about.entries_root}`,
    `sealed at:    ${about.sealed_at}`,
    `sealed by:    entry ${about.receipt.entry_id}, ${about.receipt.verify_url}`,
    `signature:    ${about.signature}`,
  ];
}

/** The requested period of a report of a system. */
export const asked = ({ from_ms = 0, until_ms }: AboutView['period']): string =>
  `${from_ms === 0 ? 'the beginning' : iso(from_ms)} to ${typeof until_ms === 'number' ? iso(until_ms) : 'the end'}`;

function endLines(document: JsonObject): string[] {
  const { applicability_note, does_not_assert, checkpoint } = document as unknown as AboutView;
  return [
    'NOTE',
    `  ${applicability_note}`,
    '',
    'THIS DOES NOT ASSERT',
    ...does_not_assert.map((line) => `  ${line}`),
    '',
    'CHECKPOINT (the JSON form has its proofs)',
    checkpoint,
  ];
}

const countLines = (counts: Readonly<Record<string, number>>, prefix = ''): string[] =>
  Object.entries(counts).map(([name, count]) => `  ${prefix}${printable(name)}: ${String(count)}`);

function evidenceLines({ count, entry_ids }: Evidence): string[] {
  if (count === 0) return [];
  const more = count > entry_ids.length ? ' and more' : '';
  return [`    ${String(count)} entries: ${entry_ids.join(', ')}${more}`];
}

const lines = (all: readonly string[]): string => `${all.join('\n')}\n`;

/** The members of both documents that the text and the page show. */
interface AboutView {
  readonly session_id?: string;
  readonly session_ref?: string;
  /** In the report of a system instead of the session. */
  readonly entity?: string;
  readonly origin: string;
  readonly tenant_ref: string;
  readonly sandbox: boolean;
  readonly period: {
    readonly from: string | null;
    readonly to: string | null;
    readonly from_ms?: number;
    readonly until_ms?: number | null;
  };
  readonly entries: number;
  readonly entries_root: string;
  readonly sealed_at: string;
  readonly applicability_note: string;
  readonly does_not_assert: readonly string[];
  readonly checkpoint: string;
  readonly signature: string;
  readonly receipt: { readonly entry_id: string; readonly verify_url: string };
}

/** The members of the report that the text and the page show. */
interface ReportView extends AboutView {
  readonly regulation: Readonly<Record<'name' | 'article' | 'title' | 'source', string>> & {
    readonly application: readonly Readonly<Record<'scope' | 'from' | 'source', string>>[];
  };
  readonly event_counts: Readonly<
    Record<'by_type' | 'by_event_type', Readonly<Record<string, number>>>
  >;
  readonly classification_counts: Readonly<Record<string, number>>;
  readonly checklist: readonly Item[];
  readonly retention: {
    readonly text: string;
    readonly articles: readonly string[];
    readonly retain_until: string;
    readonly hold_entry_id?: string | null;
    readonly erased: Evidence;
  };
  readonly incidents: readonly {
    readonly entry_id: string;
    readonly at: string;
    readonly kind: string | null;
    readonly clocks: Readonly<Record<string, string>>;
    readonly reported_at: string | null;
  }[];
}

type PackValue = number | string | Readonly<Record<string, number>> | null;

interface ExhibitView {
  readonly id: string;
  readonly title: string;
  readonly rows: readonly {
    readonly id: string;
    readonly label: string;
    readonly status: string;
    readonly value: PackValue;
    readonly evidence: Evidence;
  }[];
}

interface PackView extends AboutView {
  readonly tool: Readonly<Record<'name' | 'version' | 'status', string>>;
  readonly exhibit_a: ExhibitView;
  readonly exhibit_b: ExhibitView;
  readonly exhibit_c: { readonly title: string; readonly reason: string };
  readonly exhibit_d: ExhibitView;
}
