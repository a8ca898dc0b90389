// The shapes of the two documents; catalogs/compliance/*.schema.json publishes them. gateway/API.md §2.2, §12.1,
// §12.2.

import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import { Count, EntityName, Hex32, Millis, Nullable, SessionRef } from '../contract/index.ts';
import { STATUSES } from './catalogs.ts';

const Time = Type.String({ description: 'RFC 3339, UTC.' });
const EntryId = Type.String({ format: 'uuid' });
const Counts = Type.Record(Type.String(), Count);

const exactly = <T extends Record<string, TSchema>>(members: T, options: object = {}) =>
  Type.Object(members, { additionalProperties: false, ...options });

/** The entries behind a statement. */
const EvidenceSchema = exactly({
  count: Count,
  first_entry_id: Nullable(EntryId),
  last_entry_id: Nullable(EntryId),
  entry_ids: Type.Array(EntryId, { maxItems: 20, description: 'The first ones.' }),
});

const period = {
  from: Nullable({ ...Time, description: 'Of the first entry.' }),
  to: Nullable({ ...Time, description: 'Of the last entry.' }),
  as_of_ms: { ...Millis, description: 'Log time up to which the chain was read.' },
};

/** What all documents say of what they are about. */
const about = {
  origin: Type.String({ description: 'The log.' }),
  tenant_ref: Type.String({ pattern: '^[A-Za-z0-9_-]{22}$' }),
  sandbox: Type.Boolean(),
  period: exactly(period),
  entries: Count,
  entries_root: {
    ...Hex32,
    description: 'RFC 6962 root over these entries, oldest first; a leaf hash is an entry_hash.',
  },
  sealed_at: Time,
  does_not_assert: Type.Array(Type.String()),
};

/** The same of a session. */
const aboutSession = { session_id: Type.String(), session_ref: SessionRef, ...about };

/** What travels with a document and is not under its commitment, because each proves itself. */
const beside = {
  completeness_proof: Type.Object(
    {},
    {
      description:
        'A document of log/FORMAT.md §6 on the chain of the session: what closes it says that the session has ' +
        'this many entries. It shows the last ones, all of them up to 100.',
    },
  ),
  checkpoint: Type.String({ description: 'The signed note that completeness_proof is under.' }),
  signature: Type.String({ description: 'Of the receipt: Ed25519, base64.' }),
  receipt: Type.Object(
    {
      type: Type.String(),
      origin: Type.String(),
      entry_id: EntryId,
      index: Count,
      subject_key: Type.Array(Type.String()),
      document_sha256: Hex32,
      kid: Type.String(),
      signature: Type.String(),
      entry_hash: Hex32,
      verify_url: Type.String({ format: 'uri' }),
    },
    {
      description:
        'Of the entry whose document_sha256 is SHA-256 of the RFC 8785 form of this document without ' +
        'completeness_proof, checkpoint, signature and receipt. It has its checkpoint and inclusion proof.',
    },
  ),
};

/** An incident and its report. */
export const IncidentSchema = exactly({
  entry_id: EntryId,
  at: Time,
  kind: Nullable(Type.String()),
  clocks: Type.Record(Type.String(), Time),
  applies: Nullable(Type.String()),
  reported_entry_id: Nullable(EntryId),
  reported_at: Nullable(Time),
  reported_in_time: Type.Boolean(),
});

/** The time limits of Article 73. */
export const ClocksSchema = Type.Array(
  exactly({
    id: Type.String(),
    days: Count,
    kinds: Type.Array(Type.String()),
    text: Type.String(),
    article: Type.String(),
  }),
);

/** What reports of sessions and of systems say alike. */
const said = {
  regulation: exactly({
    id: Type.String(),
    name: Type.String(),
    article: Type.String(),
    title: Type.String(),
    source: Type.String(),
    application: Type.Array(
      exactly({ scope: Type.String(), from: Type.String(), source: Type.String() }),
    ),
  }),
  event_counts: exactly({ total: Count, by_type: Counts, by_event_type: Counts }),
  classification_counts: exactly({ SAFE: Count, VIOLATION: Count, CRISIS: Count, ERROR: Count }),
  checklist: Type.Array(
    exactly({
      id: Type.String(),
      title: Type.String(),
      requirement: Type.String(),
      status: Type.Enum([...STATUSES]),
      evidence: EvidenceSchema,
      note: Type.String(),
    }),
  ),
  incident_count: Count,
  incidents: Type.Array(IncidentSchema),
  incident_clocks: ClocksSchema,
  applicability_note: Type.String(),
};

const retained = {
  minimum_days: Count,
  articles: Type.Array(Type.String()),
  text: Type.String(),
  retain_until: Time,
  erased: { ...EvidenceSchema, description: 'Entries whose texts were erased on request.' },
};

/** GET /compliance/eu-ai-act/article-12. */
export const ReportSchema = exactly(
  {
    schema: Type.Literal('svc-article-12-report-v1'),
    ...aboutSession,
    ...said,
    retention: exactly({
      ...retained,
      hold_entry_id: Nullable({
        ...EntryId,
        description: 'Of the spoliation seal over the session: until it is released nothing goes.',
      }),
    }),
    ...beside,
  },
  { $id: 'Article12Report' },
);

/** GET /compliance/eu-ai-act/article-12/systems/{entity}. */
export const SystemReportSchema = exactly(
  {
    schema: Type.Literal('svc-article-12-system-report-v1'),
    entity: { ...EntityName, description: 'Stands for the system.' },
    ...about,
    period: exactly({
      ...period,
      from_ms: Millis,
      until_ms: Nullable({ ...Millis, description: 'Null where no end was asked for.' }),
    }),
    ...said,
    retention: exactly(retained),
    ...beside,
    opening_proof: Type.Optional(
      Type.Object(
        {},
        {
          description:
            'Of the first entry of the period, where completeness_proof does not show it: its place on the chain ' +
            'says how many entries are before the period.',
        },
      ),
    ),
  },
  { $id: 'Article12SystemReport' },
);

const Row = exactly({
  id: Type.String(),
  label: Type.String(),
  status: Type.Enum(['EVIDENCED', 'NOT EVIDENCED']),
  value: Type.Union([Count, Counts, Type.String(), Type.Null()]),
  evidence: EvidenceSchema,
  verify_urls: Type.Array(Type.String({ format: 'uri' })),
});

const Exhibit = exactly({
  id: Type.String(),
  title: Type.String(),
  status: Type.Literal('provided'),
  rows: Type.Array(Row),
});

/** GET /compliance/naic/exhibit-pack/{session_id}. */
export const PackSchema = exactly(
  {
    schema: Type.Literal('svc-naic-exhibit-pack-v1'),
    tool: exactly({
      name: Type.String(),
      version: Type.String(),
      status: Type.String(),
      source: Type.String(),
      model_bulletin: Type.String(),
    }),
    ...aboutSession,
    exhibit_a: Exhibit,
    exhibit_b: Exhibit,
    exhibit_c: exactly({
      title: Type.String(),
      status: Type.Literal('not_provided'),
      reason: Type.String(),
    }),
    exhibit_d: Exhibit,
    applicability_note: Type.String(),
    ...beside,
  },
  { $id: 'NaicExhibitPack' },
);
