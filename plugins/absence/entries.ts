// The entries of absence: a witness, which commits to its document, and a spoliation report, which is all in
// clear. Both speak about a surface's chain and are not on it. log/FORMAT.md §3, §6; gateway/API.md §9.3, §9.4.

import { Type } from 'typebox';
import { asSchema, Count, EntityName, Hex32, Millis, SurfaceName } from '../contract/index.ts';
import type { EntryType, JsonObject } from '../contract/index.ts';

/** Name of the entry type of a witness. */
export const WITNESS = 'absence.witness.v1';
/** The same of a document of an earlier log, which takes no entries any more. */
export const EARLIER_WITNESS = 'absence.earlier_witness.v1';
/** Name of the entry type of a spoliation report. */
export const REPORT = 'absence.spoliation_report.v1';

/** The verdicts of log/FORMAT.md §6. */
export const VERDICTS = ['PRESENT', 'UNDECLARED', 'UNDERSAMPLED', 'ABSENT'] as const;

/** One of the verdicts. */
export type Verdict = (typeof VERDICTS)[number];

/** `["surface", entity, surface]`; TypeBox writes tuples as draft 7 does, the log's schemas are of 2020-12. */
export const SurfaceKey = Type.Unsafe<readonly ['surface', string, string]>({
  type: 'array',
  prefixItems: [Type.Literal('surface'), EntityName, SurfaceName],
  items: false,
  minItems: 3,
  maxItems: 3,
});

/** What a witness says in the log. The question's key is the subject: the witness is not on that chain. */
const WitnessMembers = Type.Object(
  {
    subject_key: SurfaceKey,
    from_ms: Millis,
    to_ms: Millis,
    verdict: Type.Enum([...VERDICTS]),
    checkpoint_size: Count,
    /** SHA-256 of the canonical document without its receipt. */
    document_sha256: Hex32,
    /** Of the whole request, where it asked for a gate. */
    decision: Type.Optional(Type.Enum(['ALLOW', 'BLOCK'])),
  },
  { additionalProperties: false },
);

/** A witness of an earlier log: chain, window and size are those of that log. */
const EarlierMembers = Type.Object(
  {
    ...WitnessMembers.properties,
    /** Of the kind of the log that the entry stands in. */
    log_number: { ...Count, minimum: 1 },
  },
  { additionalProperties: false },
);

/** Most windows and shortfalls that a report lists; it counts all of them. */
export const MAX_LISTED = 50;

const Window = Type.Object({ from_ms: Millis, to_ms: Millis }, { additionalProperties: false });
const Shortfall = Type.Object(
  { from_ms: Millis, to_ms: Millis, acts_counted: Count, acts_logged: Count },
  { additionalProperties: false },
);

/** What a spoliation report says, in the log and to the caller. */
export const ReportMembers = Type.Object(
  {
    subject_key: SurfaceKey,
    from_ms: Millis,
    to_ms: Millis,
    checkpoint_size: Count,
    declared: Type.Boolean({ description: 'The manifests in force list the surface all along.' }),
    interval_ms: Type.Union([Millis, Type.Null()], {
      description: 'The smallest interval that a manifest of the window promises.',
    }),
    heartbeats: Count,
    uncovered: Type.Array(Window, {
      maxItems: MAX_LISTED,
      description: 'Where no heartbeat came for longer than the interval.',
    }),
    uncovered_count: Count,
    uncovered_ms: Count,
    acts_logged: { ...Count, description: 'Entries of the surface in the window.' },
    acts_counted: Type.Union([Count, Type.Null()], {
      description: 'By acts_total, between the first and the last heartbeat that has it.',
    }),
    acts_never_logged: Type.Union([Count, Type.Null()]),
    counter_resets: Count,
    shortfalls: Type.Array(Shortfall, { maxItems: MAX_LISTED }),
    shortfall_count: Count,
    finding: Type.Enum(['NONE', 'UNCOVERED', 'UNLOGGED', 'UNCOVERED_AND_UNLOGGED']),
  },
  { additionalProperties: false },
);

/** Rows of the ledger: a tenant's witnesses by index, names as the plugin reads them. */
export const ledgerOf = (tenant_ref: string): string => `ledger/${tenant_ref}/`;
export const ledgerRow = (tenant_ref: string, index: number): string =>
  ledgerOf(tenant_ref) + String(index).padStart(16, '0');

/** The `project` of both: the ledger lists them. */
const listed: EntryType['project'] = ({ index, entry_id, issued_at_ms, statement }, rows) => {
  const { subject_key, from_ms, to_ms, verdict, document_sha256 } = statement;
  const { decision, log_number } = statement;
  const row = { entry_id, issued_at_ms, subject_key, from_ms, to_ms, verdict, document_sha256 };
  const name = `absence/${ledgerRow(statement['tenant_ref'] as string, index)}`;
  const more = {
    ...(decision === undefined ? {} : { decision }),
    ...(log_number === undefined ? {} : { log_number }),
  };
  rows.put(name, { ...row, ...more } as JsonObject);
};

/** `absence.witness.v1`. */
export const witnessType: EntryType = {
  name: WITNESS,
  schema: asSchema(WitnessMembers),
  keys: [],
  project: listed,
};

/** `absence.earlier_witness.v1`. */
export const earlierWitnessType: EntryType = {
  name: EARLIER_WITNESS,
  schema: asSchema(EarlierMembers),
  keys: [],
  project: listed,
};

/** `absence.spoliation_report.v1`. */
export const reportType: EntryType = {
  name: REPORT,
  schema: asSchema(ReportMembers),
  keys: [],
};
