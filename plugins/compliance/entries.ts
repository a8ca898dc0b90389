// The entry types of compliance: events of an AI system as stated by its operator, and commitments to reports and
// packs. A commitment names a session or an entity but is not on its chain. gateway/API.md §2.2, §12; log/FORMAT.md §2,
// §3.

import { Type } from 'typebox';
import type { Static, TSchema } from 'typebox';
import {
  asSchema,
  Count,
  EntityName,
  Millis,
  Nullable,
  plural,
  sentenceOf,
  SessionKey,
  SessionRef,
  shortName,
  utcOf,
} from '../contract/index.ts';
import type { EntryType, JsonObject } from '../contract/index.ts';

/** Name of the entry type of an Article 12 event. */
export const EVENT = 'compliance.event.v2';
/** Name of the entry type that commits to an Article 12 report. */
export const REPORT = 'compliance.article12_report.v1';
/** Name of the entry type that commits to an Article 12 report of a system and a period. */
export const SYSTEM_REPORT = 'compliance.article12_system_report.v1';
/** Name of the entry type that commits to a NAIC exhibit pack. */
export const PACK = 'compliance.naic_pack.v1';

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const Word = Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}$' });

/** Logged for an event type that the catalog does not list; its text is a commitment. */
export const OTHER_EVENT = 'other';

/** Members of an event in clear text: words of the catalog and identifiers. The rest is commitments. */
const eventMembers = {
  session_ref: SessionRef,
  event_type: { ...Word, description: 'Of the catalog, or `other` with a commitment.' },
  /** The entry id or entry hash that the caller wrote. */
  decision_entry_id: Type.Optional(Type.String({ pattern: `^(${UUID}|[0-9a-f]{64})$` })),
  /** Whether that is an entry of this log and of the same tenant. */
  decision_linked: Type.Optional(Type.Boolean()),
  annex_iii_point: Type.Optional(Type.String({ pattern: '^[1-8](\\.[a-c])?$' })),
  incident_kind: Type.Optional(Word),
  /** Names of those members of the committed metadata that the catalog lists. */
  metadata_names: Type.Optional(Type.Array(Word)),
};

/** Members of an event, including the entity that represents the system. */
export const EventMembers = Type.Object(
  { ...eventMembers, entity: Type.Optional(EntityName) },
  { additionalProperties: false },
);

const eventSentence = sentenceOf<
  Pick<Static<typeof EventMembers>, 'event_type' | 'decision_entry_id'>
>(({ event_type, decision_entry_id }) => {
  const about =
    decision_entry_id === undefined
      ? ''
      : ` about the decision ${shortName(decision_entry_id, 36)}`;
  return `The tenant logged an event of the type ${event_type} of a session${about}.`;
});

/** `compliance.event.v2`. */
export const eventType: EntryType = {
  name: EVENT,
  schema: asSchema(EventMembers),
  keys: [],
  sentence: eventSentence,
};

/** `compliance.event.v1` of earlier releases, without an entity. */
export const earlierEventType: EntryType = {
  name: 'compliance.event.v1',
  schema: asSchema(Type.Object(eventMembers, { additionalProperties: false })),
  keys: [],
  sentence: eventSentence,
};

/** Whether a type is an event, of this release or an earlier one. */
export const isEvent = (type: unknown): boolean => type === EVENT || type === earlierEventType.name;

/** Members of a commitment to a report or a pack. */
const DocumentMembers = Type.Object(
  {
    subject_key: SessionKey,
    /** The number of entries of the session up to `to_ms`. */
    entries: Count,
    to_ms: Millis,
    sealed_at_ms: Millis,
    document_sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  },
  { additionalProperties: false },
);

/** Members of a commitment to the report of a system. */
const SystemMembers = Type.Object(
  {
    // Written by hand, because TypeBox emits tuples of JSON Schema draft 7 and the log uses 2020-12.
    subject_key: Type.Unsafe<readonly ['entity', string]>({
      type: 'array',
      prefixItems: [Type.Literal('entity'), EntityName],
      items: false,
      minItems: 2,
      maxItems: 2,
    }),
    from_ms: Millis,
    /** Requested end of the period; null if none was requested. */
    until_ms: Nullable(Millis),
    entries: DocumentMembers.properties.entries,
    to_ms: Millis,
    sealed_at_ms: Millis,
    document_sha256: DocumentMembers.properties.document_sha256,
  },
  { additionalProperties: false },
);

/** Row of a subject's newest sealed document of a type. */
export interface SealedRow {
  readonly index: number;
  readonly entries: number;
  readonly to_ms: number;
  readonly sealed_at_ms: number;
  readonly document_sha256: string;
}

/** The subject of a document: a session, or a system in a period. */
export interface SealedSubject {
  readonly subject_key: readonly string[];
  readonly from_ms?: number;
  readonly until_ms?: number | null;
}

/** Name of the row of a subject's newest document of a type, relative to the plugin. */
export function sealedRow(type: string, { subject_key, from_ms, until_ms }: SealedSubject): string {
  const name = `sealed/${type}/${subject_key[1] ?? ''}`;
  return from_ms === undefined ? name : `${name}/${String(from_ms)}/${String(until_ms ?? 'open')}`;
}

function documentType(name: string, title: string, members: TSchema = DocumentMembers): EntryType {
  return {
    name,
    schema: asSchema(members),
    keys: [],
    sentence: sentenceOf<{
      readonly subject_key: readonly [string, string];
      readonly entries: number;
      readonly to_ms: number;
    }>(({ subject_key: [kind, subject], entries, to_ms }) => {
      const about = kind === 'entity' ? `the entity ${shortName(subject)}` : 'a session';
      return `The service sealed ${title} of ${about} with ${plural(entries, 'entry', 'entries')} up to ${utcOf(to_ms)}.`;
    }),
    project({ index, statement }, rows) {
      const { entries, to_ms, sealed_at_ms, document_sha256 } = statement;
      const row = { index, entries, to_ms, sealed_at_ms, document_sha256 } as JsonObject;
      rows.put(`compliance/${sealedRow(name, statement as unknown as SealedSubject)}`, row);
    },
  };
}

/** `compliance.article12_report.v1`. */
export const reportType = documentType(REPORT, 'an Article 12 report');
/** `compliance.article12_system_report.v1`. */
export const systemReportType = documentType(SYSTEM_REPORT, 'an Article 12 report', SystemMembers);
/** `compliance.naic_pack.v1`. */
export const packType = documentType(PACK, 'a NAIC exhibit pack');
