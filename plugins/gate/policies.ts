// A tenant's policy: rules over an act's type, surface, amount, reversibility and message; and which policy a tenant
// has in force, read from its entry. gateway/API.md §8.1; catalogs/gate/policy.schema.json publishes the schema.

import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import type { Static, TSchema } from 'typebox';
import {
  AtomicAmount,
  AtomicInput,
  atomicOf,
  canonical,
  EntityName,
  namedStatement,
  SafeCount,
  SurfaceName,
} from '../contract/index.ts';
import type { JsonObject, LogView } from '../contract/index.ts';
import { policyRow, versionRow } from './rows.ts';
import type { PolicyRow } from './rows.ts';

const MAX_RULES = 100;
const MAX_NAMES = 50;

const Identifier = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9:._-]{0,127}$' });
const listOf = <T extends Parameters<typeof Type.Array>[0]>(item: T) =>
  Type.Array(item, { minItems: 1, maxItems: MAX_NAMES, uniqueItems: true });

/** What the classification of an act's message may be; NONE where it has no message. */
export const JUDGED = ['SAFE', 'VIOLATION', 'CRISIS', 'ERROR', 'NONE'] as const;

/** One rule. All of its conditions must hold; one without conditions is about every act. */
const ruleSchema = <A extends TSchema>(amount: A) =>
  Type.Object(
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
            over: Type.Optional(amount),
            at_most: Type.Optional(amount),
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
export type Rule = Static<ReturnType<typeof ruleSchema<typeof AtomicAmount>>>;

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

const policyMembers = <A extends TSchema>(amount: A) =>
  Type.Object(
    {
      rules: Type.Array(ruleSchema(amount), { maxItems: MAX_RULES }),
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

const expiringMembers = <A extends TSchema>(amount: A) =>
  Type.Object(
    {
      ...policyMembers(amount).properties,
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

/** The members of a policy. */
export const PolicyMembers = expiringMembers(AtomicAmount);

/** The same in a request, which may write any amount as digits. */
export const PolicyInput = expiringMembers(AtomicInput);

/** The members of a policy of `gate.policy.v1` and of `gate.policy.v2`. */
export const PolicyMembersV1 = policyMembers(SafeCount);
export const PolicyMembersV2 = expiringMembers(SafeCount);

/** A policy. */
export type Policy = Static<typeof PolicyMembers>;

/** A policy in force. */
export interface InForce extends PolicyRow {
  readonly policy: Policy;
}

/** The policy of a tenant as of the newest durable entry; null while it has none. */
export function policyInForce(
  log: LogView,
  tenant_ref: string,
  read: ReadPolicy = inForceOf,
): InForce | null {
  const row = log.row(policyRow(tenant_ref)) as unknown as PolicyRow | undefined;
  return row === undefined ? null : read(log, row);
}

const BRAND = Symbol.for('actlog.OtherPolicy');

/** Another policy is in force at the sequence point than the one that decided. */
export class OtherPolicy extends Error {
  readonly [BRAND] = true;
  readonly row: PolicyRow | undefined;

  constructor(row: PolicyRow | undefined) {
    super('the tenant has another policy');
    this.row = row;
  }
}

/** Whether a group was refused because the policy of its tenant is another one since it was prepared. */
export const isPolicyMoved = (thrown: unknown): thrown is OtherPolicy =>
  thrown instanceof Error && BRAND in thrown;

/** The entry of one version of a tenant's policy; null if there is no such version. */
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

/** Reads the policy that a row names. */
export type ReadPolicy = (log: LogView, row: PolicyRow) => InForce;

/** A policy in force, out of its row. */
export const inForceOf: ReadPolicy = (log, row) => ({ policy: policyAt(log, row.index), ...row });

/** How many policies are kept parsed. */
const KEPT = 256;

/** `inForceOf` for every request: it keeps policies parsed, since an entry never changes (`actlog bench --only gate`). */
export function keptPolicies(): ReadPolicy {
  const kept = new Map<string, Policy>();
  return (log, row) => {
    const policy = kept.get(row.entry_id) ?? policyAt(log, row.index);
    kept.delete(row.entry_id);
    kept.set(row.entry_id, policy);
    const [oldest] = kept.keys();
    if (kept.size > KEPT && oldest !== undefined) kept.delete(oldest);
    return { policy, ...row };
  };
}

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

/** The policy of a request as its entry has it: every amount in its one form. */
export function statedPolicy(body: JsonObject): Policy {
  const policy = policyOf(body);
  const rules = policy.rules.map((rule) => {
    if (rule.amount === undefined) return rule;
    const { currency, over, at_most } = rule.amount;
    const limits = {
      ...(over === undefined ? {} : { over: atomicOf(over) }),
      ...(at_most === undefined ? {} : { at_most: atomicOf(at_most) }),
    };
    return { ...rule, amount: { currency, ...limits } };
  });
  return { ...policy, rules };
}

/** SHA-256 over the canonical form of a policy, hex. */
export function policyHash(policy: Policy): string {
  return createHash('sha256').update(canonical(policy)).digest('hex');
}
