// The entry types of absence: a witness, which commits to its document, and a spoliation report in clear text. Both
// refer to the chain of a surface but are not on it. log/FORMAT.md §3, §6; gateway/API.md §9.3, §9.4.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  asSchema,
  Count,
  EntityName,
  Hex32,
  Millis,
  ofEntity,
  plural,
  sentenceOf,
  SurfaceName,
  utcOf,
} from '../contract/index.ts';
import type { EntryType, JsonObject } from '../contract/index.ts';

/** Name of the entry type of a witness. */
export const WITNESS = 'absence.witness.v1';
/** Name of the entry type of a witness whose document is about a closed log, which accepts no entries. */
export const EARLIER_WITNESS = 'absence.earlier_witness.v1';
/** Name of the entry type of a spoliation report. */
export const REPORT = 'absence.spoliation_report.v1';

/** The verdicts of log/FORMAT.md §6. */
export const VERDICTS = ['PRESENT', 'UNDECLARED', 'UNDERSAMPLED', 'ABSENT'] as const;

/** One of the verdicts. */
export type Verdict = (typeof VERDICTS)[number];

/**
 * `["surface", entity, surface]`. Written by hand, because TypeBox emits tuples of draft 7 and the log uses 2020-12.
 */
export const SurfaceKey = Type.Unsafe<readonly ['surface', string, string]>({
  type: 'array',
  prefixItems: [Type.Literal('surface'), EntityName, SurfaceName],
  items: false,
  minItems: 3,
  maxItems: 3,
});

/** Members of a witness. `subject_key` is the key of the question; the witness is not on that chain. */
const WitnessMembers = Type.Object(
  {
    subject_key: SurfaceKey,
    from_ms: Millis,
    to_ms: Millis,
    verdict: Type.Enum([...VERDICTS]),
    checkpoint_size: Count,
    /** SHA-256 of the canonical document without its receipt. */
    document_sha256: Hex32,
    /** Decision on the whole request, if it asked for a gate. */
    decision: Type.Optional(Type.Enum(['ALLOW', 'BLOCK'])),
  },
  { additionalProperties: false },
);

/** Members of a witness about an earlier log, to which chain, window and size refer. */
const EarlierMembers = Type.Object(
  {
    ...WitnessMembers.properties,
    /** Number of the earlier log, of the same kind as the log of this entry. */
    log_number: { ...Count, minimum: 1 },
  },
  { additionalProperties: false },
);

/** Largest number of windows and of shortfalls that a report lists. Its counts include all. */
export const MAX_LISTED = 50;

const Window = Type.Object({ from_ms: Millis, to_ms: Millis }, { additionalProperties: false });
const Shortfall = Type.Object(
  { from_ms: Millis, to_ms: Millis, acts_counted: Count, acts_logged: Count },
  { additionalProperties: false },
);

/** Members of a spoliation report, in its entry and in the answer. */
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

/** Names of the rows that list a tenant's witnesses by index, relative to the plugin. */
export const ledgerOf = (tenant_ref: string): string => `ledger/${tenant_ref}/`;
export const ledgerRow = (tenant_ref: string, index: number): string =>
  ledgerOf(tenant_ref) + String(index).padStart(16, '0');

const witnessSentence = sentenceOf<
  Static<typeof WitnessMembers> & { readonly log_number?: number }
>(({ subject_key: [, entity, surface], from_ms, to_ms, verdict, log_number }) => {
  const found = verdict === 'PRESENT' ? 'a logged act' : 'no logged act';
  const log = log_number === undefined ? '' : ` in log ${log_number}`;
  return `A witness found ${found}${ofEntity({ entity, surface })}${log} from ${utcOf(from_ms)} to ${utcOf(to_ms)}; verdict ${verdict}.`;
});

/** Projects both types of witnesses to rows of the ledger. */
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
  sentence: witnessSentence,
  project: listed,
};

/** `absence.earlier_witness.v1`. */
export const earlierWitnessType: EntryType = {
  name: EARLIER_WITNESS,
  schema: asSchema(EarlierMembers),
  keys: [],
  sentence: witnessSentence,
  project: listed,
};

/** `absence.spoliation_report.v1`. */
export const reportType: EntryType = {
  name: REPORT,
  schema: asSchema(ReportMembers),
  keys: [],
  sentence: sentenceOf<Static<typeof ReportMembers>>((report) => {
    const { subject_key, from_ms, to_ms, uncovered_count, acts_never_logged } = report;
    const [, entity, surface] = subject_key;
    const gaps = plural(uncovered_count, 'heartbeat gap');
    const never =
      acts_never_logged === null ? '' : `, ${plural(acts_never_logged, 'unlogged act')}`;
    return `A spoliation report${ofEntity({ entity, surface })}, ${utcOf(from_ms)} to ${utcOf(to_ms)}: ${gaps}${never}.`;
  }),
};
