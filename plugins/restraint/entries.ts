// The entries of restraint: an act that was not done, what would have come of another course, and what must not
// be destroyed. gateway/API.md §7.7, §7.9.

import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  asSchema,
  Count,
  EntityName,
  EntryId,
  errorsOf,
  Hex32,
  Millis,
  ofEntity,
  plural,
  sentenceOf,
  SessionRef,
  shortName,
  SurfaceName,
} from '../contract/index.ts';
import type { EntryType } from '../contract/index.ts';

/** Error codes of this plugin. */
export const restraintErrors = errorsOf({
  hold_resolved: { status: 409, sentence: 'The hold was resolved before.' },
});

/** Name of the entry type of a restraint. */
export const RECORD = 'restraint.record.v1';

/** The modalities that a restraint may have. */
const MODALITIES = ['OMISSIBLE', 'FORBIDDEN', 'OBLIGATORY_REFRAIN'] as const;

/** One of the modalities. */
export type Modality = (typeof MODALITIES)[number];

/** What a restraint leaves open, as the entry names it and in words. */
export const RECORD_DOES_NOT_ASSERT = {
  act_not_done_elsewhere: 'that the act was not done by other means or by somebody else',
  act_not_done_later: 'that the act was not done afterwards',
  acts_never_logged: 'anything about acts that were never logged',
  truth_of_reason: 'that the committed reason, proof of capability and context are true',
} as const;

/** What a restraint says beside the common members; what the caller wrote is commitments. */
export const RecordMembers = Type.Object(
  {
    action_ref: Hex32,
    /** Entry id of the decision that it follows from; its own if there is none. */
    decision_id: EntryId,
    verdict: Type.Enum(['denied', 'deferred']),
    reason_code: Type.Enum(['decision_outcome_not_allow', 'missing_decision_binding_ref']),
    timestamp_ms: Millis,
    restraint_receipt_ref: Hex32,
    deontic_modality: Type.Enum([...MODALITIES]),
    strength: Type.Enum(['evidenced', 'asserted']),
    does_not_assert: Type.Array(Type.Enum(Object.keys(RECORD_DOES_NOT_ASSERT))),
    session_ref: Type.Optional(SessionRef),
    entity: Type.Optional(EntityName),
    surface: Type.Optional(SurfaceName),
    /** Stands with `surface`: whether the manifest in force lists it. */
    surface_declared: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);

/** `restraint.record.v1`. */
export const recordType: EntryType = {
  name: RECORD,
  schema: asSchema(RecordMembers),
  keys: [],
  sentence: sentenceOf<Static<typeof RecordMembers>>((record) => {
    const { verdict, strength } = record;
    return `The tenant states that it refrained from an act${ofEntity(record)}, which was ${verdict}; the restraint is ${strength}.`;
  }),
};

/** Name of the entry type of a counterfactual record. */
export const CCR = 'restraint.ccr.v1';

/** What a counterfactual record leaves open. */
export const CCR_DOES_NOT_ASSERT = {
  course_of_events:
    'that events would have gone so: it is what the rules or the actor say of another course',
  completeness_of_inputs: 'that nothing but the named inputs would have mattered',
} as const;

const Outcome = Type.String({ pattern: '^[A-Z][A-Z0-9_]{0,63}$' });

/** What a counterfactual record says: an entry, its outcome, and the one it would have had. */
export const CcrMembers = Type.Object(
  {
    basis: Type.Enum(['restraint', 'replay'], {
      description: 'The word of who refrained, or the rules under changed inputs.',
    }),
    subject_entry_id: EntryId,
    subject_type: Type.String({ pattern: '^[a-z][a-z0-9._-]{0,127}$' }),
    original: Outcome,
    counterfactual: Outcome,
    changed: Type.Boolean(),
    does_not_assert: Type.Array(Type.Enum(Object.keys(CCR_DOES_NOT_ASSERT))),
  },
  { additionalProperties: false },
);

/** `restraint.ccr.v1`; it speaks about an entry and is on no chain. */
export const ccrType: EntryType = {
  name: CCR,
  schema: asSchema(CcrMembers),
  keys: [],
  sentence: sentenceOf<Static<typeof CcrMembers>>((record) => {
    const { basis, subject_entry_id, original, counterfactual } = record;
    const by = basis === 'replay' ? 'By a replay with changed inputs' : 'By the word of the actor';
    const [was, would] = [shortName(original), shortName(counterfactual)];
    return `${by}, the outcome of the entry ${subject_entry_id} would have been ${would}; it was ${was}.`;
  }),
};

/** Name of the entry type of a spoliation seal. */
export const SEAL = 'restraint.seal.v1';

/** What a seal leaves open. */
export const SEAL_DOES_NOT_ASSERT = {
  records_outside_the_log: 'anything about records that are not in this log',
  records_never_logged: 'that every record that should exist was logged',
  trigger: 'that the event took place, or that a duty to preserve arose from it',
} as const;

const Bound = Type.Union([Millis, Type.Null()]);

/** What a seal says; trigger event and systems are commitments. */
export const SealMembers = Type.Object(
  {
    trigger_date: Type.Optional(Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' })),
    /** Sessions under the hold, each `session:<session_ref>`; none where it is over all of the tenant's. */
    subject_sessions: Type.Array(Type.String({ pattern: '^session:[A-Za-z0-9_-]{43}$' })),
    from_ms: Bound,
    to_ms: Bound,
    checkpoint_size: Count,
    preserved_count: Count,
    preserved_indexes_sha256: {
      ...Hex32,
      description: 'SHA-256 over the canonical array of the preserved indexes, ascending.',
    },
    retention_hold: Type.Literal(true),
    does_not_assert: Type.Array(Type.Enum(Object.keys(SEAL_DOES_NOT_ASSERT))),
  },
  { additionalProperties: false },
);

/** A retention hold, as its row has it. */
export interface Hold {
  /** Entry id of the seal. */
  readonly entry_id: string;
  /** Null where it is over all sessions of the tenant, and what has none. */
  readonly sessions: readonly string[] | null;
  readonly from_ms: number | null;
  readonly to_ms: number | null;
}

/** Prefix of a tenant's holds, as the plugin reads it. */
export const holdsOf = (tenant_ref: string): string => `hold/${tenant_ref}/`;

/** Row of the hold of the seal at an index, by its whole name. */
export const holdRow = (tenant_ref: string, index: number): string =>
  `restraint/${holdsOf(tenant_ref)}${String(index).padStart(16, '0')}`;

/** Row of a tenant's newest hold, by its whole name: who must not race with one compares it at the sequence point. */
export const holdMark = (tenant_ref: string): string => `restraint/newest/${tenant_ref}`;

/** `restraint.seal.v1`. */
export const sealType: EntryType = {
  name: SEAL,
  schema: asSchema(SealMembers),
  keys: [],
  sentence: sentenceOf<Static<typeof SealMembers>>(({ preserved_count, subject_sessions }) => {
    const sessions = subject_sessions.length;
    const of = sessions === 0 ? 'the tenant' : plural(sessions, 'session');
    return `A retention hold was placed on ${plural(preserved_count, 'entry', 'entries')} of ${of}.`;
  }),
  project({ index, entry_id, statement }, rows) {
    const { from_ms = null, to_ms = null } = statement;
    const subjects = statement['subject_sessions'] as readonly string[];
    const sessions = subjects.map((subject) => subject.slice('session:'.length));
    const hold = { entry_id, sessions: sessions.length === 0 ? null : sessions, from_ms, to_ms };
    rows.put(holdRow(statement['tenant_ref'] as string, index), hold);
    rows.put(holdMark(statement['tenant_ref'] as string), index);
  },
};

/** Name of the entry type that ends the hold of a seal. */
export const RELEASE = 'restraint.seal_release.v1';

const ReleaseMembers = Type.Object(
  { seal_id: EntryId, seal_index: Type.Integer({ minimum: 0 }) },
  { additionalProperties: false },
);

/** Row of a release whose seal is in an earlier log, as the plugin reads it. */
export const releasedHold = (tenant_ref: string, seal_id: string): string =>
  `released/${tenant_ref}/${seal_id}`;

/** `restraint.seal_release.v1`; why is a commitment. */
export const releaseType: EntryType = {
  name: RELEASE,
  schema: asSchema(ReleaseMembers),
  keys: [],
  sentence: sentenceOf<Static<typeof ReleaseMembers>>(
    ({ seal_id }) => `The retention hold of the seal ${seal_id} was released.`,
  ),
  project({ statement }, rows) {
    const tenant_ref = statement['tenant_ref'] as string;
    const seal_id = statement['seal_id'] as string;
    const row = holdRow(tenant_ref, statement['seal_index'] as number);
    const hold = rows.get(row) as unknown as Hold | undefined;
    if (hold?.entry_id === seal_id) rows.del(row);
    else rows.put(`restraint/${releasedHold(tenant_ref, seal_id)}`, true);
  },
};
