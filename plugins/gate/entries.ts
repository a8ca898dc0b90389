// The entries of the gate: decisions, policies, resolutions of holds, uses of permits; and the rows that follow
// from them. gateway/API.md §8.1, §8.2; log/FORMAT.md §2.

import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import {
  asSchema,
  EntityName,
  EntryId,
  errorsOf,
  Hex32,
  Identifier,
  Millis,
  SafeCount,
  SessionRef,
  SurfaceName,
} from '../contract/index.ts';
import type { EntryType, JsonObject } from '../contract/index.ts';
import { EarlierPolicyMembers, PolicyMembers } from './policies.ts';
import { followSessions, projectDecision, projectPolicy, projectUse } from './rows.ts';

/** Error codes of this plugin. */
export const gateErrors = errorsOf({
  permit_used: { status: 409, sentence: 'The permit was used before.' },
  permit_secret_invalid: {
    status: 403,
    sentence: 'The request does not open the use secret that the permit commits to.',
  },
  receipt_required: {
    status: 428,
    sentence: 'The act needs the receipt of a valid, unused permit.',
  },
});

/** Identifier of the entry type of a decision. */
export const DECISION = 'gate.decision.v1';
/** Identifier of the entry type of a policy. */
export const POLICY = 'gate.policy.v2';
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

/** What a decision says beside the common members; what the caller wrote is commitments. */
export const DecisionMembers = Type.Object(
  {
    outcome: Type.Enum([...OUTCOMES]),
    action_ref: { ...Hex32, description: 'Of the profile action-ref-v1-ms.' },
    /** The time in the preimage of `action_ref`. */
    timestamp_ms: Millis,
    /** What it rests on: the tenant's policy, or the end of a hold. */
    basis: Type.Enum(['policy', 'release', 'refusal']),
    /** Codes of catalogs/gate/gate.json; `rule:<id>` names a rule of the policy. */
    reasons: Type.Array(
      Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}(:[a-z0-9][a-z0-9._-]{0,63})?$' }),
    ),
    /** 0 while the tenant has none. */
    policy_version: SafeCount,
    policy_entry_id: Type.Optional(EntryId),
    amount_atomic: Type.Optional(SafeCount),
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
  },
  { additionalProperties: false },
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

/** `gate.decision.v1`. */
export const decisionType: EntryType = {
  name: DECISION,
  schema: asSchema(DecisionMembers),
  keys: [],
  project: projectDecision,
  watch: followSessions,
  row_form: 2, // since an act has one usable permit, and every decision of a session is followed
};

/** `gate.policy.v2`: the policy itself, in clear, with its number and the SHA-256 of its canonical form. */
export const policyType: EntryType = {
  name: POLICY,
  schema: policySchema(PolicyMembers.properties),
  keys: [],
  project: projectPolicy,
};

/** `gate.policy.v1`, of earlier builds: without `hold_ttl_s`. */
const earlierPolicyType: EntryType = {
  name: 'gate.policy.v1',
  schema: policySchema(EarlierPolicyMembers.properties),
  keys: [],
  project: projectPolicy,
};

/** `gate.hold_resolution.v2`: a human released or refused the act, or the hold expired. */
export const resolutionType: EntryType = {
  name: RESOLUTION,
  schema: asSchema(resolutionMembers(['release', 'refuse', 'expire'])),
  keys: [],
};

/** `gate.hold_resolution.v1`, of earlier builds, in which no hold expired. */
const earlierResolutionType: EntryType = {
  name: 'gate.hold_resolution.v1',
  schema: asSchema(resolutionMembers(['release', 'refuse'])),
  keys: [],
};

/** Types that only entries of earlier builds have. */
export const earlierTypes: readonly EntryType[] = [earlierPolicyType, earlierResolutionType];

/** `gate.permit_use.v1`. */
export const useType: EntryType = {
  name: USE,
  schema: asSchema(UseMembers),
  keys: [['gate.permit', 'permit_id']],
  project: projectUse,
};
