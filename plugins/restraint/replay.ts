// POST /tcb/counterfactual-replay: a decision of the log under other inputs, by the rules of the plugin that
// made it; both outcomes are logged. gateway/API.md §7.7, §14.

import { Type } from 'typebox';
import { ApiError, receiptOf, route, statementAt } from '../contract/index.ts';
import type { Caller, JsonObject, LogView, PluginHost, Route } from '../contract/index.ts';
import { CCR, CCR_DOES_NOT_ASSERT, ccrType, RECORD } from './entries.ts';
import { causeOf, checkObject, Counterfactual, counterfactualOf } from './routes.ts';

/** What a re-evaluation gets. */
export interface Replayed {
  /** The decision's statement. */
  readonly statement: JsonObject;
  /** The inputs that are to be others, as the caller wrote them: hostile. */
  readonly changes: JsonObject;
  readonly caller: Caller;
  readonly log: LogView;
}

/** How the decisions of one type are re-evaluated. Outcomes are upper snake case. */
export interface Evaluator {
  /** Names of the changes that it takes: others are answered as ignored. All, where it does not say. */
  readonly inputs?: readonly string[];
  /** The outcome that the entry has. */
  original(statement: JsonObject): string;
  /** The outcome that it would have had; an ApiError for changes that make no sense. */
  evaluate(replayed: Replayed): string | Promise<string>;
}

/** Evaluators by entry type. */
export type Evaluators = Map<string, Evaluator>;

/** A restraint's own: its modality and its strength follow from the request. */
export const RESTRAINT_EVALUATOR: Evaluator = {
  inputs: ['capability_proof', 'opportunity_context'],
  original: (statement) => outcome(statement['deontic_modality'], statement['strength']),
  evaluate({ statement, changes }) {
    const { capability_proof, opportunity_context } = changes;
    const forbidden = statement['deontic_modality'] === 'FORBIDDEN';
    const modality =
      forbidden || opportunity_context === undefined
        ? statement['deontic_modality']
        : causeOf(objectOf(opportunity_context)).deontic_modality;
    const strength =
      capability_proof === undefined
        ? statement['strength']
        : objectOf(capability_proof) === undefined
          ? 'asserted'
          : 'evidenced';
    return outcome(modality, strength);
  },
};

const outcome = (modality: unknown, strength: unknown): string =>
  `${String(modality)}_${String(strength).toUpperCase()}`;

const objectOf = (value: unknown): object | undefined =>
  typeof value === 'object' && value !== null ? value : undefined;

const ReplayAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    ccr_id: Type.String({ format: 'uuid' }),
    ...Counterfactual.properties,
    ignored_fields: Type.Array(Type.String(), {
      description: 'Changes that nothing in the decision depends on: the outcome is without them.',
    }),
    verify_url: Type.String({ format: 'uri' }),
    receipt: receiptOf(ccrType),
  },
  { $id: 'CounterfactualReplay' },
);

/** The route; `evaluators` may grow until the first request. */
export function replayRoute(host: PluginHost, evaluators: Evaluators): Route {
  const { limits } = host;
  const toll = host.toll('ccr');
  return route({
    method: 'POST',
    path: '/tcb/counterfactual-replay',
    tag: 'restraint',
    summary: 'Re-evaluate a decision under other inputs',
    description:
      `Of the caller's own decisions. By the rules that hold now; ${RECORD} by what it was told. The example needs ` +
      'the decision_entry_id of an answer of POST /api/v1/execute-gate.',
    access: 'open',
    idempotent: true,
    body: Type.Object(
      {
        entry_id: Type.String({ minLength: 1, maxLength: limits.string_chars }),
        changes: Type.Object({}, { description: 'The inputs that are to be others.' }),
      },
      { $id: 'CounterfactualRequest' },
    ),
    responses: { 200: { description: 'Both outcomes.', schema: ReplayAnswer } },
    example: {
      entry_id: '01900000-0000-7000-8000-000000000000',
      changes: { amount_atomic: 250_000_000 },
    },
    errors: ['resource_missing', 'tenant_forbidden'],
    async handle(ctx) {
      const { body, caller } = ctx.state;
      const log = host.log(caller.kind);
      checkObject('changes', body.changes, limits.metadata_bytes);
      const statement = ownDecision(log, caller, body.entry_id);
      const subject_type = statement['type'] as string;
      const evaluator = evaluators.get(subject_type);
      if (evaluator === undefined) {
        const message = `entries of ${subject_type} are not re-evaluated`;
        throw new ApiError('parameter_invalid', message, { param: 'entry_id' });
      }
      const changes = body.changes as JsonObject;
      const original = evaluator.original(statement);
      const counterfactual = await evaluator.evaluate({ statement, changes, caller, log });
      await ctx.state.append([
        {
          type: CCR,
          members: {
            basis: 'replay',
            subject_entry_id: statement['entry_id'] as string,
            subject_type,
            original,
            counterfactual,
            changed: original !== counterfactual,
            does_not_assert: Object.keys(CCR_DOES_NOT_ASSERT),
          },
          private: { changes },
          toll,
        },
      ]);
    },
    respond([entry], _disclosures, { body }) {
      if (entry === undefined) throw new Error('a replay has one entry');
      const { entry_id, statement, receipt } = entry;
      const { verify_url } = receipt;
      const evaluator = evaluators.get(statement['subject_type'] as string);
      const ignored_fields = ignoredBy(evaluator, body.changes);
      const told = { ...counterfactualOf(statement), ignored_fields };
      return { ok: true, ccr_id: entry_id, ...told, verify_url, receipt };
    },
  });
}

function ignoredBy(evaluator: Evaluator | undefined, changes: object): readonly string[] {
  const inputs = evaluator?.inputs;
  return inputs === undefined ? [] : Object.keys(changes).filter((name) => !inputs.includes(name));
}

function ownDecision(log: LogView, caller: Caller, entry_id: string): JsonObject {
  const param = 'entry_id';
  const index = log.indexOfEntry(entry_id.toLowerCase());
  const statement = index === null ? null : statementAt(log, index);
  if (statement === null) throw new ApiError('resource_missing', 'no entry has this id', { param });
  if (statement['tenant_ref'] === caller.tenant_ref) return statement;
  throw new ApiError('tenant_forbidden', 'the entry belongs to another tenant', { param });
}
