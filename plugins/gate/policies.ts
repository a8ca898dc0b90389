// A tenant's policy: rules over an act's type, surface, amount, reversibility and message; and which policy a tenant
// has in force, read from its entry. gateway/API.md §8.1; catalogs/gate/policy.schema.json publishes the schema.

import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { canonical, EntityName, namedStatement, SurfaceName } from '../contract/index.ts';
import type { JsonObject, LogView } from '../contract/index.ts';
import { policyRow, versionRow } from './rows.ts';
import type { PolicyRow } from './rows.ts';

const MAX_RULES = 100;
const MAX_NAMES = 50;

const Identifier = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9:._-]{0,127}$' });
const listOf = <T extends Parameters<typeof Type.Array>[0]>(item: T) =>
  Type.Array(item, { minItems: 1, maxItems: MAX_NAMES, uniqueItems: true });
const Amount = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** What the classification of an act's message may be; NONE where it has no message. */
export const JUDGED = ['SAFE', 'VIOLATION', 'CRISIS', 'ERROR', 'NONE'] as const;

/** One rule. All of its conditions must hold; one without conditions is about every act. */
const RuleSchema = Type.Object(
  {
    id: Type.String({
      pattern: '^[a-z0-9][a-z0-9._-]{0,63}$',
      description: 'Named in the reasons of a decision.',
    }),
    effect: Type.Enum(['allow', 'deny', 'hold']),
    action_types: Type.Optional(listOf(Identifier)),
    action_prefixes: Type.Optional({
      ...listOf(Identifier),
      description: 'What the action type begins with, such as `payment.`.',
    }),
    entities: Type.Optional(listOf(EntityName)),
    surfaces: Type.Optional(listOf(SurfaceName)),
    amount: Type.Optional(
      Type.Object(
        {
          currency: Identifier,
          over: Type.Optional(Amount),
          at_most: Type.Optional(Amount),
        },
        {
          additionalProperties: false,
          description: 'Atomic units of the currency: over < amount_atomic ≤ at_most.',
        },
      ),
    ),
    reversibility: Type.Optional(
      listOf(Type.Enum(['reversible', 'hard_to_reverse', 'irreversible'])),
    ),
    classification: Type.Optional(
      Type.Array(Type.Enum([...JUDGED]), { minItems: 1, uniqueItems: true }),
    ),
  },
  { additionalProperties: false },
);

/** One rule of a policy. */
export type Rule = Static<typeof RuleSchema>;

const RequiredSchema = Type.Object(
  {
    action_type: Identifier,
    issuers: Type.Optional({
      ...listOf(Type.String({ pattern: '^tenant:[A-Za-z0-9_-]{22}$' })),
      description:
        "Whose permits count, each `tenant:<tenant_ref>`; the tenant's own unless given.",
    }),
  },
  { additionalProperties: false },
);

/** The members of a policy of `gate.policy.v1`. */
export const EarlierPolicyMembers = Type.Object(
  {
    rules: Type.Array(RuleSchema, { maxItems: MAX_RULES }),
    receipt_required: Type.Optional(
      Type.Array(RequiredSchema, {
        maxItems: MAX_NAMES,
        description: 'Acts that are permitted only to who shows a receipt of a permit for them.',
      }),
    ),
  },
  { additionalProperties: false },
);

/** Bounds of `hold_ttl_s`: a minute and a year. */
const HOLD_TTL_S = { minimum: 60, maximum: 31_536_000 };

/** The members of a policy. */
export const PolicyMembers = Type.Object(
  {
    ...EarlierPolicyMembers.properties,
    hold_ttl_s: Type.Optional(
      Type.Integer({
        ...HOLD_TTL_S,
        description:
          'After so many seconds a HOLD that no human has decided ends as refused; 604800 unless given.',
      }),
    ),
  },
  { additionalProperties: false },
);

/** A policy. */
export type Policy = Static<typeof PolicyMembers>;

/** A policy in force. */
export interface InForce extends PolicyRow {
  readonly policy: Policy;
}

/** The policy of a tenant as of the newest durable entry; null while it has none. */
export function policyInForce(log: LogView, tenant_ref: string): InForce | null {
  const row = log.row(policyRow(tenant_ref)) as unknown as PolicyRow | undefined;
  return row === undefined ? null : inForceOf(log, row);
}

/** Where one version of a tenant's policy stands; null where it has no such version. */
export function versionAt(
  logs: readonly LogView[],
  tenant_ref: string,
  version: number,
): { readonly log: LogView; readonly index: number } | null {
  for (const log of logs.toReversed()) {
    const row = log.row(versionRow(tenant_ref, version)) as { readonly index: number } | undefined;
    if (row !== undefined) return { log, index: row.index };
  }
  return null;
}

/** A policy in force, out of its row. */
export const inForceOf = (log: LogView, row: PolicyRow): InForce => ({
  policy: policyAt(log, row.index),
  ...row,
});

/** The policy that an entry is. */
export const policyAt = (log: LogView, index: number): Policy =>
  policyOf(namedStatement(log, index));

/** The members of a policy alone: of a request, which may have others, or of an entry. */
export function policyOf({ rules, receipt_required, hold_ttl_s }: JsonObject): Policy {
  return {
    ...(hold_ttl_s === undefined ? {} : { hold_ttl_s: hold_ttl_s as number }),
    rules: rules as unknown as Policy['rules'],
    ...(receipt_required === undefined
      ? {}
      : {
          receipt_required: receipt_required as unknown as NonNullable<Policy['receipt_required']>,
        }),
  };
}

/** SHA-256 over the canonical form of a policy, hex. */
export function policyHash(policy: Policy): string {
  return createHash('sha256').update(canonical(policy)).digest('hex');
}
