// The entry types of the carrier gate: mandates, their renewals, acceptances and ends, and decisions. All are on the
// chain of the mandate, so its history is provably complete; resolutions of findings are on the chain of the finding.
// The insured's name is a commitment; entries identify the insured by `slug_ref`, which only the carrier can compute.
// gateway/API.md §8.3; log/FORMAT.md §2, §3.

import { Type } from 'typebox';
import type { Static, TProperties } from 'typebox';
import {
  asSchema,
  Count,
  EntryId,
  errorsOf,
  Hex32,
  listed,
  ofEntity,
  sentenceOf,
  SessionRef,
  utcOf,
} from '../contract/index.ts';
import type { EntryType, Reasons } from '../contract/index.ts';
import { findings, FINDINGS, projectResolution } from './findings.ts';
import {
  ACTIONS,
  covered,
  MandateMembers,
  projectAcceptance,
  projectEnd,
  projectMandate,
  projectRenewal,
  RenewalMembers,
  term,
} from './mandates.ts';
import type { Mandate, Renewal } from './mandates.ts';

/** Error codes of this plugin. */
export const carrierErrors = errorsOf({
  mandate_exists: { status: 409, sentence: 'A mandate for this slug is in force.' },
  mandate_ended: { status: 409, sentence: 'The carrier ended the mandate.' },
  mandate_accepted: { status: 409, sentence: 'The mandate was accepted before.' },
  acceptance_code_invalid: {
    status: 403,
    sentence: 'The acceptance code is not that of the mandate.',
  },
  finding_resolved: { status: 409, sentence: 'The finding was resolved before.' },
});

/** Members that all routes share by which a carrier appends entries. */
export const CARRIER_ACT = {
  method: 'POST',
  tag: 'carrier',
  access: { roles: ['carrier'] },
  idempotent: true,
} as const;

/** Name of the entry type of an enrollment. */
export const MANDATE = 'carrier.mandate.v2';
/** Name of the entry type by which a carrier renews a mandate. */
export const RENEWAL = 'carrier.renewal.v1';
/** Name of the entry type by which a carrier ends a mandate. */
export const END = 'carrier.end.v1';
/** Name of the entry type by which an insured accepts a mandate. */
export const ACCEPTANCE = 'carrier.acceptance.v1';
/** Name of the entry type of an answer to a compliance or bind check. */
export const DECISION = 'carrier.decision.v3';
/** Name of the entry type by which a human resolves a finding. */
export const RESOLUTION = 'carrier.finding_resolution.v1';

/** Why a check blocks, in the order of the rules. */
export const REASONS = [
  'not_enrolled',
  'mandate_ended',
  'mandate_expired',
  'open_crisis',
  'open_violation',
  'action_outside_mandate',
  'authority_missing',
  'limit_over_authority',
  'evidence_missing',
] as const;

/** Reasons in decisions of earlier releases. */
const EARLIER_REASONS = [
  'not_enrolled',
  'mandate_expired',
  'open_crisis',
  'open_violation',
  'authority_missing',
  'limit_over_authority',
  'evidence_missing',
] as const;

/** One of the reasons. */
export type Reason = (typeof REASONS)[number];

/** Roles of entries in decisions of earlier releases. */
const EARLIER_PARTS = ['mandate', 'crisis', 'violation', 'evidence'] as const;

/** Roles of the entries that a decision depends on. A resolution follows the finding that it resolves. */
export const PARTS = [
  ...EARLIER_PARTS,
  ...(['renewal', 'acceptance', 'end', 'resolved_finding', 'resolution'] as const),
] as const;

/** How a person resolves a finding: it was wrong, or its cause was fixed. */
export const OUTCOMES = ['dismissed', 'remediated'] as const;

const ActMembers = Type.Object({ mandate_id: EntryId }, { additionalProperties: false });

const decisionMembers = <R extends string, P extends string, M extends TProperties>(
  reasons: readonly R[],
  parts: readonly P[],
  more: M,
) =>
  Type.Object(
    {
      decision: Type.Enum(['ALLOW', 'BLOCK']),
      reasons: Type.Array(Type.Enum([...reasons])),
      action: Type.Enum([...ACTIONS]),
      asked_by: Type.Enum(['compliance', 'bind_check']),
      slug_ref: Hex32,
      mandate_id: Type.Optional(EntryId),
      terms_version: Count,
      /** The entries that the decision depends on. */
      rests_on: Type.Array(
        Type.Object(
          { part: Type.Enum([...parts]), entry_id: EntryId, index: Count, log_number: Count },
          { additionalProperties: false },
        ),
      ),
      /** Size of the checkpoint of the answer's inclusion proofs. */
      checkpoint_size: Count,
      session_ref: Type.Optional(SessionRef),
      ...more,
    },
    { additionalProperties: false },
  );

/** Present together with `mandate_id`: whether the insured had accepted the mandate. */
const accepted = { mandate_accepted: Type.Optional(Type.Boolean()) };

/** Members of a decision. Names, limits and premiums are commitments. */
export type Decision = Static<
  ReturnType<typeof decisionMembers<Reason, (typeof PARTS)[number], typeof accepted>>
>;

const keys = [['carrier.mandate', 'mandate_id']] as const;

const mandateSentence = sentenceOf<Pick<Mandate, 'subject_key'> & Renewal>(
  ({ subject_key, valid_from_ms, valid_until_ms }) => {
    const about = ofEntity(subject_key === undefined ? {} : { entity: subject_key[1] });
    return `The carrier enrolled a mandate${about}, valid from ${utcOf(valid_from_ms)} to ${utcOf(valid_until_ms)}.`;
  },
);

/** `carrier.mandate.v2`. */
export const mandateType: EntryType = {
  name: MANDATE,
  schema: asSchema(MandateMembers),
  keys,
  sentence: mandateSentence,
  project: projectMandate,
};

/** `carrier.renewal.v1`. */
export const renewalType: EntryType = {
  name: RENEWAL,
  schema: asSchema(RenewalMembers),
  keys,
  sentence: sentenceOf<Renewal>(
    ({ mandate_id, valid_until_ms }) =>
      `The carrier renewed the mandate ${mandate_id} until ${utcOf(valid_until_ms)}.`,
  ),
  project: projectRenewal,
};

/** `carrier.end.v1`; the reason is a commitment. */
export const endType: EntryType = {
  name: END,
  schema: asSchema(ActMembers),
  keys,
  sentence: sentenceOf<Static<typeof ActMembers>>(
    ({ mandate_id }) => `The carrier ended the mandate ${mandate_id}.`,
  ),
  project: projectEnd,
};

/** `carrier.acceptance.v1`, of the tenant that accepts. */
export const acceptanceType: EntryType = {
  name: ACCEPTANCE,
  schema: asSchema(ActMembers),
  keys,
  sentence: sentenceOf<Static<typeof ActMembers>>(
    ({ mandate_id }) => `The tenant accepted the mandate ${mandate_id}.`,
  ),
  project: projectAcceptance,
};

/** The reasons as the end of a sentence. */
const REASON_WORDS: Readonly<Record<Reason, string>> = {
  not_enrolled: 'no mandate is in force',
  mandate_ended: 'the mandate was ended',
  mandate_expired: 'the mandate has expired',
  open_crisis: 'a CRISIS is open',
  open_violation: 'a VIOLATION is open',
  action_outside_mandate: 'the mandate does not cover the action',
  authority_missing: 'no authority was stated',
  limit_over_authority: 'the limit is over the authority',
  evidence_missing: 'evidence is missing',
};

/** Each reason of a decision as a clause. */
const decisionReasons: Reasons = ({ reasons }) =>
  (reasons as readonly Reason[]).map((reason) => REASON_WORDS[reason]);

const decisionSentence = sentenceOf<Decision>(({ decision, action, reasons }) => {
  const because = listed(reasons.map((reason) => REASON_WORDS[reason]));
  return `The carrier gate answered ${decision} to a ${action}${because && `, because ${because}`}.`;
});

/** `carrier.decision.v3`. */
export const decisionType: EntryType = {
  name: DECISION,
  schema: asSchema(decisionMembers(REASONS, PARTS, accepted)),
  keys,
  sentence: decisionSentence,
  reasons: decisionReasons,
};

const ResolutionMembers = Type.Object(
  {
    finding_id: EntryId,
    finding_index: Count,
    finding_log_number: Count,
    classification: Type.Enum([...FINDINGS]),
    outcome: Type.Enum([...OUTCOMES]),
  },
  { additionalProperties: false },
);

/** Members of a resolution. The stated reason is a commitment. */
export type Resolution = Static<typeof ResolutionMembers>;

/** `carrier.finding_resolution.v1`, on the chain of the finding. */
export const resolutionType: EntryType = {
  name: RESOLUTION,
  schema: asSchema(ResolutionMembers),
  keys: [['carrier.finding', 'finding_id']],
  sentence: sentenceOf<Resolution>(
    ({ classification, finding_id, outcome }) =>
      `The tenant resolved the ${classification} of the entry ${finding_id} as ${outcome}.`,
  ),
  project: projectResolution,
};

/** Types of entries of earlier releases. `carrier.decision.v1` also has the watch that projects findings. */
export const earlierTypes: readonly EntryType[] = [
  {
    name: 'carrier.mandate.v1',
    schema: asSchema(Type.Object({ ...covered, ...term }, { additionalProperties: false })),
    keys,
    sentence: mandateSentence,
    project: projectMandate,
    row_form: 2, // since a mandate has a row of its own
  },
  {
    name: 'carrier.decision.v2',
    schema: asSchema(decisionMembers(EARLIER_REASONS, EARLIER_PARTS, {})),
    keys,
    sentence: decisionSentence,
    reasons: decisionReasons,
  },
  {
    name: 'carrier.decision.v1',
    schema: asSchema(
      decisionMembers(
        EARLIER_REASONS.filter((reason) => reason !== 'authority_missing'),
        EARLIER_PARTS,
        {},
      ),
    ),
    keys,
    sentence: decisionSentence,
    reasons: decisionReasons,
    watch: findings,
    row_form: 2, // since each finding has a row
  },
];
