// The entries of the gate: decisions, policies, resolutions of holds, uses of permits; and the rows that follow
// from them. gateway/API.md §8.1, §8.2; log/FORMAT.md §2.

import { Type } from 'typebox';
import type { Static, TSchema } from 'typebox';
import {
  asSchema,
  AtomicAmount,
  EntityName,
  EntryId,
  errorsOf,
  Hex32,
  Identifier,
  listed,
  Millis,
  ofEntity,
  plural,
  SafeCount,
  sentenceOf,
  SessionRef,
  shortName,
  SurfaceName,
} from '../contract/index.ts';
import type { EntryType, Json, JsonObject, Reasons } from '../contract/index.ts';
import { PolicyMembers, PolicyMembersV1, PolicyMembersV2 } from './policies.ts';
import { followSessions, projectDecision, projectPolicy, projectUse } from './rows.ts';

/** Error codes of this plugin. */
export const gateErrors = errorsOf({
  permit_used: { status: 409, sentence: 'The permit was used before.' },
  permit_secret_invalid: {
    status: 403,
    sentence: 'The request does not open the use secret that the permit commits to.',
  },
  permit_exists: {
    status: 409,
    sentence: 'The act has a usable permit already.',
  },
  permit_not_given: {
    status: 409,
    sentence: 'The policy of the tenant or a hold of the act prevents the permit.',
  },
  permit_not_used: {
    status: 409,
    sentence: 'The permit was not used, so its act has no result.',
  },
  result_exists: {
    status: 409,
    sentence: 'The result of the act was logged before.',
  },
  receipt_required: {
    status: 428,
    sentence: 'The act needs the receipt of a valid, unused permit.',
  },
});

/** Identifier of the entry type of a decision. */
export const DECISION = 'gate.decision.v3';
/** Identifier of the entry type of a policy. */
export const POLICY = 'gate.policy.v3';
/** Identifier of the entry type that says how a hold ended. */
export const RESOLUTION = 'gate.hold_resolution.v2';
/** Identifier of the entry type that uses up a permit. */
export const USE = 'gate.permit_use.v1';

/** What a gate answers. */
export const OUTCOMES = ['PERMIT', 'HOLD', 'DENY', 'SILENCE'] as const;

/** One of the outcomes. */
export type Outcome = (typeof OUTCOMES)[number];

/** How far an act can be undone. */
export const REVERSIBILITIES = ['reversible', 'hard_to_reverse', 'irreversible'] as const;

/** Whether an entry type is that of a decision, of this build or an earlier one. */
export const isDecision = (type: Json | undefined): boolean =>
  decisionTypes.some(({ name }) => name === type);

/** What a decision of an earlier build rests on: the tenant's policy, or the end of a hold. */
const EARLIER_BASES = ['policy', 'release', 'refusal'] as const;

/** What a decision says beside the common members and the amount; what the caller wrote is commitments. */
const decisionMembers = Type.Object({
  outcome: Type.Enum([...OUTCOMES]),
  action_ref: { ...Hex32, description: 'Of the profile action-ref-v1-ms.' },
  /** The time in the preimage of `action_ref`. */
  timestamp_ms: Millis,
  /** Codes of catalogs/gate/gate.json; `rule:<id>` names a rule of the policy. */
  reasons: Type.Array(
    Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}(:[a-z0-9][a-z0-9._-]{0,63})?$' }),
  ),
  /** 0 while the tenant has none. */
  policy_version: SafeCount,
  policy_entry_id: Type.Optional(EntryId),
  /** As the catalog lists it; `other` where it does not, and then a commitment names it. */
  currency: Type.Optional(Identifier),
  reversibility: Type.Optional(Type.Enum([...REVERSIBILITIES])),
  /** Stands where there was a message. */
  classification: Type.Optional(Type.Enum(['SAFE', 'VIOLATION', 'CRISIS', 'ERROR'])),
  /** Absent where the classifier did not answer in time. */
  classifier: Type.Optional(
    Type.Object(
      { id: Identifier, version: Identifier, weights_sha256: Type.Optional(Hex32) },
      { additionalProperties: false },
    ),
  ),
  classification_rule_ids: Type.Optional(Type.Array(Identifier)),
  /** Stands on a PERMIT: from then on it permits nothing. */
  permit_expires_at_ms: Type.Optional(Millis),
  /** The permit that was shown, and used up by this decision. */
  receipt_permit_id: Type.Optional(EntryId),
  /** The hold that this decision ends. */
  hold_id: Type.Optional(EntryId),
  session_ref: Type.Optional(SessionRef),
  entity: Type.Optional(EntityName),
  surface: Type.Optional(SurfaceName),
  /** Stands with `surface`: whether the manifest in force lists it. */
  surface_declared: Type.Optional(Type.Boolean()),
}).properties;

const CLOSED = { additionalProperties: false };

/** What a decision says. */
export const DecisionMembers = Type.Object(
  {
    ...decisionMembers,
    basis: Type.Enum([...EARLIER_BASES, 'trigger'], {
      description:
        "What the decision rests on: the tenant's policy, the end of a hold, or a trigger that fired.",
    }),
    trigger_id: Type.Optional({
      ...EntryId,
      description: 'With the basis `trigger`: the trigger whose settlement follows in the group.',
    }),
    amount_atomic: Type.Optional(AtomicAmount),
  },
  CLOSED,
);

/** What a resolution says; the reason of a human is a commitment. The decision behind it in its group ends the hold. */
const resolutionMembers = (actions: readonly string[]) =>
  Type.Object(
    {
      hold_id: EntryId,
      action: Type.Enum([...actions]),
      action_ref: Hex32,
      session_ref: Type.Optional(SessionRef),
      entity: Type.Optional(EntityName),
    },
    { additionalProperties: false },
  );

/** What a use of a permit says. Its chain `gate.permit` shows that there is one use, or none. */
export const UseMembers = Type.Object(
  {
    permit_id: EntryId,
    action_ref: Hex32,
    /** Who consumed it: the plugin that asked. */
    consumer: Identifier,
    permit_issued_at_ms: Millis,
  },
  { additionalProperties: false },
);

const policySchema = (members: Readonly<Record<string, TSchema>>): JsonObject =>
  asSchema(
    Type.Object(
      { ...members, policy_version: SafeCount, policy_sha256: Hex32 },
      { additionalProperties: false },
    ),
  );

/** The codes of catalogs/gate/gate.json as the end of a sentence. */
const REASON_WORDS: Readonly<Record<string, string>> = {
  no_policy: 'the tenant has no policy',
  policy_in_closed_log: 'its policy is in a closed log',
  message_crisis: 'the message was classified as CRISIS',
  message_violation: 'the message was classified as VIOLATION',
  message_error: 'the message could not be classified',
  message_timeout: 'the classifier did not answer in time',
  bind_held: 'a trigger that fired holds binds',
  hold_released: 'the hold was released',
  hold_refused: 'the hold was refused',
  hold_expired: 'the hold expired',
  trigger_fired: 'a trigger fired whose action is a permit',
};

function reasonOf(reason: string, policy_version: number): string {
  if (reason === 'no_rule') return `no rule of policy version ${policy_version} covers it`;
  const [code = '', rule] = reason.split(':');
  if (rule === undefined) return REASON_WORDS[code] ?? `of ${code}`;
  return `rule ${shortName(rule)} of policy version ${policy_version} matched`;
}

/** Each reason of a decision as a clause. */
const decisionReasons: Reasons = (statement) => {
  const { reasons, policy_version } = statement as unknown as Static<typeof DecisionMembers>;
  return reasons.map((reason) => reasonOf(reason, policy_version));
};

const decisionSentence = sentenceOf<Omit<Static<typeof DecisionMembers>, 'amount_atomic'>>(
  (decision) => {
    const { outcome, reasons } = decision;
    const because = listed(reasons.map((reason) => reasonOf(reason, decision.policy_version)));
    return `The gate answered ${outcome} to an act${ofEntity(decision)}, because ${because}.`;
  },
);

/** `gate.decision.v3`. */
export const decisionType: EntryType = {
  name: DECISION,
  schema: asSchema(DecisionMembers),
  keys: [],
  sentence: decisionSentence,
  reasons: decisionReasons,
  project: projectDecision,
};

const earlierDecision = (
  version: 1 | 2,
  members: Readonly<Record<string, TSchema>>,
): EntryType => ({
  ...decisionType,
  name: `gate.decision.v${String(version)}`,
  schema: asSchema(Type.Object(members, CLOSED)),
});

const earlierBasis = Type.Enum([...EARLIER_BASES]);
const { outcome, action_ref, timestamp_ms, ...membersAfterBasis } = decisionMembers;

/**
 * The types of decisions, newest first. In v2 no trigger gives a permit; in v1 amounts are also at most 2^53 - 1. The
 * order of the members is that of `required` in the declared schema, so it must not change either.
 */
export const decisionTypes: readonly EntryType[] = [
  decisionType,
  earlierDecision(2, {
    ...decisionMembers,
    basis: earlierBasis,
    amount_atomic: Type.Optional(AtomicAmount),
  }),
  {
    ...earlierDecision(1, {
      ...{ outcome, action_ref, timestamp_ms },
      basis: earlierBasis,
      ...membersAfterBasis,
      amount_atomic: Type.Optional(SafeCount),
    }),
    watch: followSessions, // it follows the decisions of sessions, whatever their version
    row_form: 3, // since a row names the newest permit of an act, and every decision of a session is followed
  },
];

const policySentence = sentenceOf<{
  readonly policy_version: number;
  readonly rules: readonly unknown[];
}>(
  ({ policy_version, rules }) =>
    `The tenant put version ${policy_version} of its policy, with ${plural(rules.length, 'rule')}.`,
);

/** `gate.policy.v3`: the policy itself, in clear, with its number and the SHA-256 of its canonical form. */
export const policyType: EntryType = {
  name: POLICY,
  schema: policySchema(PolicyMembers.properties),
  keys: [],
  sentence: policySentence,
  project: projectPolicy,
};

/** `gate.policy.v1` and `gate.policy.v2`, of earlier builds: the first without `hold_ttl_s`, both without digits. */
const earlierPolicyTypes = [PolicyMembersV1, PolicyMembersV2].map(
  ({ properties }, at): EntryType => ({
    name: `gate.policy.v${String(at + 1)}`,
    schema: policySchema(properties),
    keys: [],
    sentence: policySentence,
    project: projectPolicy,
  }),
);

/** How a hold ended, by the `action` of its resolution. */
const ENDED: Readonly<Record<string, string>> = {
  release: 'was released',
  refuse: 'was refused',
  expire: 'expired without a decision',
};

const resolutionSentence = sentenceOf<{ readonly hold_id: string; readonly action: string }>(
  (resolution) => {
    const { hold_id, action } = resolution;
    return `The hold ${hold_id}${ofEntity(resolution)} ${ENDED[action] ?? action}.`;
  },
);

/** `gate.hold_resolution.v2`: a human released or refused the act, or the hold expired. */
export const resolutionType: EntryType = {
  name: RESOLUTION,
  schema: asSchema(resolutionMembers(['release', 'refuse', 'expire'])),
  keys: [],
  sentence: resolutionSentence,
};

/** `gate.hold_resolution.v1`, of earlier builds, in which no hold expired. */
const earlierResolutionType: EntryType = {
  name: 'gate.hold_resolution.v1',
  schema: asSchema(resolutionMembers(['release', 'refuse'])),
  keys: [],
  sentence: resolutionSentence,
};

/** Types that only entries of earlier builds have. */
export const earlierTypes: readonly EntryType[] = [
  ...decisionTypes.slice(1),
  ...earlierPolicyTypes,
  earlierResolutionType,
];

/** `gate.permit_use.v1`. */
export const useType: EntryType = {
  name: USE,
  schema: asSchema(UseMembers),
  keys: [['gate.permit', 'permit_id']],
  sentence: sentenceOf<Static<typeof UseMembers>>(
    ({ permit_id, consumer }) =>
      `The permit ${permit_id} was used up by the layer ${shortName(consumer)}.`,
  ),
  project: projectUse,
};
