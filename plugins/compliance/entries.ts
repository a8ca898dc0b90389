// The entries of compliance: an event of a system, as its operator tells it, and the commitments to reports and
// packs, which speak about a session and are not on its chain. gateway/API.md §2.2, §12; log/FORMAT.md §2, §3.

import { Type } from 'typebox';
import { asSchema, Count, Millis, SessionKey, SessionRef } from '../contract/index.ts';
import type { EntryType, JsonObject } from '../contract/index.ts';

/** Name of the entry type of an Article 12 event. */
export const EVENT = 'compliance.event.v1';
/** Name of the entry type that commits to an Article 12 report. */
export const REPORT = 'compliance.article12_report.v1';
/** Name of the entry type that commits to a NAIC exhibit pack. */
export const PACK = 'compliance.naic_pack.v1';

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const Word = Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}$' });

/** The word that stands for an event type which no catalog lists: its text is a commitment. */
export const OTHER_EVENT = 'other';

/** What an event says in clear: words of the catalog and identifiers. The rest is commitments. */
export const EventMembers = Type.Object(
  {
    session_ref: SessionRef,
    event_type: { ...Word, description: 'Of the catalog, or `other` with a commitment.' },
    /** As named, in the form of an entry id or an entry hash. */
    decision_entry_id: Type.Optional(Type.String({ pattern: `^(${UUID}|[0-9a-f]{64})$` })),
    /** An entry of this log and of the same tenant. */
    decision_linked: Type.Optional(Type.Boolean()),
    annex_iii_point: Type.Optional(Type.String({ pattern: '^[1-8](\\.[a-c])?$' })),
    incident_kind: Type.Optional(Word),
    /** Which members of the catalog the committed metadata has. */
    metadata_names: Type.Optional(Type.Array(Word)),
  },
  { additionalProperties: false },
);

/** `compliance.event.v1`. */
export const eventType: EntryType = { name: EVENT, schema: asSchema(EventMembers), keys: [] };

/** What a commitment to a report or a pack says. */
const DocumentMembers = Type.Object(
  {
    subject_key: SessionKey,
    /** How many entries the session had, up to `to_ms`. */
    entries: Count,
    to_ms: Millis,
    sealed_at_ms: Millis,
    document_sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  },
  { additionalProperties: false },
);

/** A session's newest sealed document of a type, as its row has it. */
export interface SealedRow {
  readonly index: number;
  readonly entries: number;
  readonly to_ms: number;
  readonly sealed_at_ms: number;
  readonly document_sha256: string;
}

/** Row of a session's newest document of a type, as the plugin reads it. */
export const sealedRow = (type: string, session_ref: string): string =>
  `sealed/${type}/${session_ref}`;

function documentType(name: string): EntryType {
  return {
    name,
    schema: asSchema(DocumentMembers),
    keys: [],
    project({ index, statement }, rows) {
      const [, session_ref = ''] = statement['subject_key'] as readonly string[];
      const { entries, to_ms, sealed_at_ms, document_sha256 } = statement;
      const row = { index, entries, to_ms, sealed_at_ms, document_sha256 } as JsonObject;
      rows.put(`compliance/${sealedRow(name, session_ref)}`, row);
    },
  };
}

/** `compliance.article12_report.v1`. */
export const reportType = documentType(REPORT);
/** `compliance.naic_pack.v1`. */
export const packType = documentType(PACK);
