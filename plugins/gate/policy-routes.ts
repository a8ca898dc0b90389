// A tenant's policy: put by its operator, read by any of its keys. Every version is an entry of the log, in clear,
// so that a decision can be judged by what was in force. gateway/API.md §8.1.

import { Type } from 'typebox';
import { ApiError, logName, receiptOf, route } from '../contract/index.ts';
import type { Caller, JsonObject, LogView, PluginHost, Route } from '../contract/index.ts';
import { logOfEarlierPolicy } from './earlier.ts';
import { DecisionMembers, POLICY, policyType } from './entries.ts';
import {
  policyAt,
  policyHash,
  policyInForce,
  PolicyInput,
  PolicyMembers,
  policyOf,
  statedPolicy,
  versionAt,
} from './policies.ts';
import { gateRow, policyRow } from './rows.ts';
import type { PolicyRow } from './rows.ts';

const PATH = '/api/v1/execute-gate/policy';

const policyMembers = {
  policy_version: DecisionMembers.properties.policy_version,
  policy_sha256: Type.String({
    pattern: '^[0-9a-f]{64}$',
    description: 'SHA-256 over the canonical form of policy.',
  }),
  policy: PolicyMembers,
  receipt: receiptOf(policyType),
};

const PutAnswer = Type.Object(
  { ok: Type.Literal(true), ...policyMembers },
  { $id: 'GatePolicyPut' },
);

const Absent = Type.Null();
const GetAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    policy_version: policyMembers.policy_version,
    policy_sha256: Type.Union([policyMembers.policy_sha256, Absent]),
    policy: Type.Union([PolicyMembers, Absent]),
    receipt: Type.Union([receiptOf(policyType), Absent]),
    closed_log: Type.Optional(
      Type.Object(
        { log: Type.String(), ...policyMembers },
        {
          description:
            'The policy that the tenant had last, in a log that is closed, such as `live/1`. It is not in force: ' +
            'put it again.',
        },
      ),
    ),
  },
  { $id: 'GatePolicy' },
);

const EXAMPLE = {
  rules: [
    {
      id: 'small-payments',
      effect: 'allow',
      action_prefixes: ['payment.'],
      amount: { currency: 'USDC', at_most: 100_000_000 },
    },
    {
      id: 'large-payments',
      effect: 'hold',
      action_prefixes: ['payment.'],
      amount: { currency: 'USDC', over: 100_000_000 },
    },
    { id: 'no-exports', effect: 'deny', action_types: ['data.export'] },
  ],
};

/** The policy is in force already. */
class InForceAlready extends Error {
  readonly index: number;

  constructor(index: number) {
    super('this policy is in force');
    this.index = index;
  }
}

/** POST and GET of the policy. */
export function policyRoutes(host: PluginHost): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: PATH,
      tag: 'gate',
      summary: 'Put the policy of the tenant',
      description:
        'It is in force from its entry on, in place of the one before. Deny outranks hold, hold outranks allow; ' +
        'what no rule allows is SILENCE. A condition on what a request does not say is met for deny and hold, not ' +
        'for allow. The policy stands in the log in clear. The one in force, put again, is the same entry.',
      access: { roles: ['operator'] },
      idempotent: true,
      body: Type.Object({ ...PolicyInput.properties }, { $id: 'GatePolicyRequest' }),
      responses: { 200: { description: 'The policy in force.', schema: PutAnswer } },
      errors: ['entry_too_large'],
      example: EXAMPLE,
      async handle(ctx) {
        const { body, caller } = ctx.state;
        const policy = statedPolicy(body);
        checkPolicy(policy);
        const policy_sha256 = policyHash(policy);
        const row = policyRow(caller.tenant_ref);
        const members = policy as unknown as JsonObject;
        try {
          await ctx.state.append(
            [
              {
                type: POLICY,
                members({ rows }) {
                  const before = gateRow(rows, row) as unknown as PolicyRow | undefined;
                  return { ...members, policy_version: (before?.version ?? 0) + 1, policy_sha256 };
                },
              },
            ],
            {
              check({ rows }) {
                const before = gateRow(rows, row) as unknown as PolicyRow | undefined;
                if (before?.sha256 === policy_sha256) throw new InForceAlready(before.index);
              },
            },
          );
        } catch (error) {
          if (!(error instanceof InForceAlready)) throw error;
          await ctx.state.answerWith([error.index]);
        }
      },
      respond([entry]) {
        if (entry === undefined) throw new Error('a policy has one entry');
        const { statement, receipt } = entry;
        const { policy_version, policy_sha256 } = statement;
        return { ok: true, policy_version, policy_sha256, policy: policyOf(statement), receipt };
      },
    }),
    route({
      method: 'GET',
      path: PATH,
      tag: 'gate',
      summary: 'The policy of the tenant',
      description: 'The one in force, or a version of it.',
      access: 'key',
      query: Type.Object({
        version: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,8}$' })),
      }),
      responses: {
        200: {
          description: 'Version 0 and nulls while there is none, with that of a closed log beside.',
          schema: GetAnswer,
        },
      },
      errors: ['resource_missing'],
      handle(ctx) {
        const { caller, query } = ctx.state;
        const { tenant_ref } = caller;
        if (query.version !== undefined) {
          const found = versionAt(host.logs(caller.kind), tenant_ref, Number(query.version));
          if (found === null) {
            throw new ApiError('resource_missing', 'the policy has no such version', {
              param: 'version',
            });
          }
          ctx.body = { ok: true, ...shownAt(found.log, found.index) };
          return;
        }
        const log = host.log(caller.kind);
        const found = log.row(policyRow(tenant_ref)) as unknown as PolicyRow | undefined;
        if (found === undefined) {
          const nothing = { policy_sha256: null, policy: null, receipt: null };
          ctx.body = { ok: true, policy_version: 0, ...nothing, ...earlier(host, caller) };
          return;
        }
        ctx.body = { ok: true, ...shownAt(log, found.index) };
      },
    }),
  ];
}

function shownAt(log: LogView, index: number): object {
  const receipt = log.receipt(index);
  if (receipt === null) throw new Error('a policy of a row is missing');
  const { policy_version, policy_sha256 } = receipt;
  return { policy_version, policy_sha256, policy: policyAt(log, index), receipt };
}

/** The last policy in a closed log, if it has one. */
function earlier(host: PluginHost, caller: Caller): object {
  const log = logOfEarlierPolicy(host, caller);
  const last = log === null ? null : policyInForce(log, caller.tenant_ref);
  if (log === null || last === null) return {};
  return { closed_log: { log: logName(log), ...shownAt(log, last.index) } };
}

/** What the schema cannot say of a policy. */
function checkPolicy({ rules, receipt_required = [] }: ReturnType<typeof policyOf>): void {
  const twice = (names: readonly string[]): string | undefined =>
    names.find((name, i) => names.indexOf(name) !== i);
  const id = twice(rules.map((rule) => rule.id));
  if (id !== undefined) {
    throw new ApiError('parameter_invalid', `two rules have the id ${id}`, { param: 'rules' });
  }
  const empty = rules.findIndex(({ amount }) => {
    if (amount === undefined) return false;
    const { over, at_most } = amount;
    return over !== undefined && at_most !== undefined && BigInt(over) >= BigInt(at_most);
  });
  if (empty >= 0) {
    const param = `rules.${String(empty)}.amount`;
    throw new ApiError('parameter_invalid', `${param} holds no amount: over is not under at_most`, {
      param,
    });
  }
  const type = twice(receipt_required.map(({ action_type }) => action_type));
  if (type !== undefined) {
    const message = `receipt_required names ${type} twice`;
    throw new ApiError('parameter_invalid', message, { param: 'receipt_required' });
  }
}
