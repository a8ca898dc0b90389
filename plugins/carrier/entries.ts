// The entries of the carrier gate: mandates and decisions on them. Both stand on the chain of the mandate, so its
// history is provably whole. Who is insured is a commitment; the log names them by a `slug_ref` that only the
// carrier can compute. gateway/API.md §8.3; log/FORMAT.md §2, §3.

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
  SessionRef,
} from '../contract/index.ts';
import type {
  CarriedPlace,
  EntryType,
  JsonObject,
  RowWriter,
  Sequenced,
} from '../contract/index.ts';
import { findings } from './findings.ts';

/** Error codes of this plugin. */
export const carrierErrors = errorsOf({
  mandate_exists: { status: 409, sentence: 'A mandate for this slug is in force.' },
});

/** Name of the entry type of an enrollment. */
export const MANDATE = 'carrier.mandate.v1';
/** Name of the entry type of an answer to a compliance or bind check. */
export const DECISION = 'carrier.decision.v2';

/** What is to be done with a policy; `renew` in a request is `renewal`. */
export const ACTIONS = ['bind', 'renewal'] as const;

/** Why a check blocks, in the order of the rules. */
export const REASONS = [
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

/** What an entry is to a decision. */
export const PARTS = ['mandate', 'crisis', 'violation', 'evidence'] as const;

const MandateMembers = Type.Object(
  {
    /** The entry's own id; the chain of the mandate has it as its name. */
    mandate_id: EntryId,
    slug_ref: Hex32,
    /** Whose findings count; the enrolled tenant's own without it. */
    subject_key: Type.Optional(
      Type.Unsafe<readonly ['entity', string]>({
        type: 'array',
        prefixItems: [Type.Literal('entity'), EntityName],
        items: false,
        minItems: 2,
        maxItems: 2,
      }),
    ),
    valid_from_ms: Millis,
    valid_until_ms: Millis,
    terms_version: Count,
    /** SHA-256 of the canonical terms; see terms.ts. */
    terms_sha256: Hex32,
    checkpoint_size: Count,
  },
  { additionalProperties: false },
);

/** What an enrollment says; company, slug and domain are commitments. */
export type Mandate = Static<typeof MandateMembers>;

const decisionMembers = <R extends string>(reasons: readonly R[]) =>
  Type.Object(
    {
      decision: Type.Enum(['ALLOW', 'BLOCK']),
      reasons: Type.Array(Type.Enum([...reasons])),
      action: Type.Enum([...ACTIONS]),
      asked_by: Type.Enum(['compliance', 'bind_check']),
      slug_ref: Hex32,
      mandate_id: Type.Optional(EntryId),
      terms_version: Count,
      /** The entries that the decision rests on. */
      rests_on: Type.Array(
        Type.Object(
          { part: Type.Enum([...PARTS]), entry_id: EntryId, index: Count, log_number: Count },
          { additionalProperties: false },
        ),
      ),
      /** Of the checkpoint under which they are proven in the answer. */
      checkpoint_size: Count,
      session_ref: Type.Optional(SessionRef),
    },
    { additionalProperties: false },
  );

/** What a decision says; names, limits and premiums are commitments. */
export type Decision = Static<ReturnType<typeof decisionMembers<Reason>>>;

/** A mandate, as its row has it. */
export interface MandateRow extends CarriedPlace {
  readonly mandate_id: string;
  /** Null for the enrolled tenant itself. */
  readonly entity: string | null;
  readonly valid_until_ms: number;
}

/** Row of a carrier's newest mandate for a slug. */
export const mandateRow = (tenant_ref: string, slug_ref: string): string =>
  `carrier/mandate/${tenant_ref}/${slug_ref}`;

function project({ index, entry_id, statement }: Sequenced, rows: RowWriter): void {
  const { slug_ref, subject_key, valid_until_ms } = statement as unknown as Mandate;
  const entity = subject_key?.[1] ?? null;
  const row: MandateRow = { mandate_id: entry_id, index, entity, valid_until_ms };
  rows.put(mandateRow(statement['tenant_ref'] as string, slug_ref), row as unknown as JsonObject);
}

const keys = [['carrier.mandate', 'mandate_id']] as const;

/** `carrier.mandate.v1`. */
export const mandateType: EntryType = {
  name: MANDATE,
  schema: asSchema(MandateMembers),
  keys,
  project,
};

/** `carrier.decision.v2`. */
export const decisionType: EntryType = {
  name: DECISION,
  schema: asSchema(decisionMembers(REASONS)),
  keys,
};

/** `carrier.decision.v1`, of earlier builds, without `authority_missing`; it follows the findings of all tenants. */
export const earlierDecisionType: EntryType = {
  name: 'carrier.decision.v1',
  schema: asSchema(decisionMembers(REASONS.filter((reason) => reason !== 'authority_missing'))),
  keys,
  watch: findings,
};
