// SHARP slices: POST /api/v1/orn/sharp divides an amount among agents by Shapley's value. gateway/API.md §10.4, §14.
//
// The entry has all parameters, so that a holder of the committed inputs can compute the slices again.

import { randomInt } from 'node:crypto';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { ApiError, atLeastOne, firstOf, receiptOf, route } from '../contract/index.ts';
import type { AnsweredEntry, Caller, JsonObject, PluginHost, Route } from '../contract/index.ts';
import { DOES_NOT_ASSERT, SHARP, SharpMembers, sharpType } from './entries.ts';
import { gameOf, ValueFunction } from './game-request.ts';
import { GraphId, namedGraph, namesOf, refuseBeside, registeredGraph } from './graph.ts';
import type { Graph } from './graph.ts';
import { rangeOf, worthOf } from './game.ts';
import type { Game } from './game.ts';
import {
  apportion,
  DecimalText,
  MAX_NAMED,
  millionthsOf,
  millionthsText,
  Named,
  rounded,
  statedMicroUsd,
  UsdInput,
  usdText,
} from './members.ts';
import { EXACT_AGENTS, permutationsFor } from './shapley.ts';
import type { Bound, Shapley, ShapleyTask } from './shapley.ts';
import { costOf, SharpPool, stepsOf } from './sharp-pool.ts';

/** Largest number of steps of a task: some hundred milliseconds in the thread. */
const MAX_STEPS = 30_000_000;
/** Seeds drawn by the service are below this; a caller's seed may be any safe integer. */
const SEEDS = 2 ** 47;

/** The parameters of a sample. */
interface SampleRequest {
  /** Largest error of a part as a share of the amount, in millionths. */
  readonly epsilon: number;
  /** Probability that any part has a larger error, in millionths. */
  readonly delta: number;
  /** Drawn by the service if the request has none. */
  readonly seed: number | undefined;
}

/** A task and the members that describe it in the entry. */
interface Slicing {
  readonly task: ShapleyTask;
  readonly sampled: JsonObject;
}

/** Plans the computation: exact, or a sample with the requested bound; 400 if that takes too long. */
function slicingOf(game: Game, { epsilon, delta, seed }: SampleRequest, amount: bigint): Slicing {
  if (worthOf(game) === 0) {
    const message =
      'the coalition of all agents has the same value as the empty one, so the amount cannot be divided';
    throw new ApiError('parameter_invalid', message, { param: 'value_function' });
  }
  if (game.agents <= EXACT_AGENTS) return { task: { game, sample: null }, sampled: {} };
  const bound: Bound = { epsilon: epsilon / 1e6, delta: delta / 1e6 };
  const permutations = permutationsFor(game, bound);
  const sample = { seed: seed ?? randomInt(SEEDS), permutations };
  const task = { game, sample };
  if (!(stepsOf(task) <= MAX_STEPS)) {
    const most = String(
      Math.floor(MAX_STEPS / stepsOf({ game, sample: { ...sample, permutations: 1 } })),
    );
    const needed = `epsilon needs ${String(permutations)} permutations`;
    throw new ApiError('parameter_invalid', `${needed}, the limit of this game is ${most}`, {
      param: 'epsilon',
    });
  }
  return {
    task,
    sampled: {
      epsilon: millionthsText(BigInt(epsilon)),
      delta: millionthsText(BigInt(delta)),
      // Rounding can change a part by one micro-USD.
      bound_micro_usd: Number((amount * BigInt(epsilon) + 999_999n) / 1_000_000n) + 1,
      range: millionthsText(BigInt(rangeOf(game))),
      seed: sample.seed,
      seed_source: seed === undefined ? 'service' : 'caller',
      permutations,
    },
  };
}

/** The members of the entry. */
function slicesOf(
  { task, sampled }: Slicing,
  { credits, divisor }: Shapley,
  amount: bigint,
): JsonObject {
  const { game, sample } = task;
  const worth = BigInt(worthOf(game));
  const parts = apportion(amount, credits, worth * divisor);
  return {
    method: sample === null ? 'exact' : 'sampled',
    value_function: game.type,
    agents: game.agents,
    amount_micro_usd: Number(amount),
    worth: millionthsText(worth),
    shapley_values: credits.map((credit) => millionthsText(rounded(credit, divisor))),
    parts_micro_usd: parts.map((part) => statedMicroUsd(part, 'value_function')),
    ...sampled,
    does_not_assert: Object.keys(DOES_NOT_ASSERT),
  };
}

const { method, worth, permutations, epsilon, delta, seed, seed_source } = SharpMembers.properties;

const SharpAnswer = Type.Object(
  {
    ok: Type.Literal(true),
    sharp_entry_id: Type.String({ format: 'uuid' }),
    orchestration_id: Type.String(),
    method,
    amount_usd: DecimalText,
    worth,
    slices: Type.Array(
      Type.Object({ id: Type.String(), shapley_value: DecimalText, amount_usd: DecimalText }),
    ),
    sample: Type.Optional(
      Type.Object({
        ...{ epsilon, delta, seed, seed_source, permutations },
        bound_usd: DecimalText,
        range: DecimalText,
      }),
    ),
    does_not_assert: Type.Array(Type.String()),
    verify_url: Type.String({ format: 'uri' }),
    receipt: receiptOf(sharpType),
  },
  { $id: 'SharpAllocation' },
);

const sharpBody = ({ limits }: PluginHost) =>
  Type.Object(
    {
      orchestration_id: Type.String({ minLength: 1, maxLength: limits.string_chars }),
      graph_id: GraphId,
      agents: Type.Optional(
        Type.Array(Named, {
          ...{ minItems: 1, maxItems: MAX_NAMED },
          description: 'The default is the nodes of the graph that graph_id names.',
        }),
      ),
      value_function: Type.Optional(
        Type.Unsafe<Static<typeof ValueFunction>>({
          ...ValueFunction,
          description: 'The default is the edges of the graph that graph_id names.',
        }),
      ),
      amount_usd: UsdInput,
      epsilon: Type.Optional(
        Type.Number({
          ...{ minimum: 0.001, maximum: 0.5, default: 0.02 },
          description:
            'For more than 16 agents: the largest error of a part, as a share of the amount.',
        }),
      ),
      delta: Type.Optional(
        Type.Number({
          ...{ minimum: 0.000_001, maximum: 0.5, default: 0.01 },
          description: 'For more than 16 agents: the probability that any part has a larger error.',
        }),
      ),
      seed: Type.Optional(
        Type.Integer({
          ...{ minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
          description:
            'For more than 16 agents: the seed of the permutations; by default drawn by the service.',
        }),
      ),
    },
    { $id: 'SharpRequest', ...atLeastOne(['agents', 'value_function'], 'graph_id') },
  );

/** One worker thread for all gateways of the process. */
const POOL = new SharpPool();

/** The route of SHARP. */
export function sharpRoute(host: PluginHost): Route {
  return route({
    method: 'POST',
    path: '/api/v1/orn/sharp',
    tag: 'orn',
    summary: 'Divide an amount among agents by their contributions: SHARP slices',
    description:
      'Computes the Shapley value of each agent: exactly for up to 16 agents, otherwise from permutations drawn from a ' +
      'seed, with a stated error bound. The parts sum to the amount, to the micro-USD. The entry has the result and ' +
      'the seed, and commits to the inputs.',
    access: 'open',
    idempotent: true,
    body: sharpBody(host),
    responses: { 200: { description: 'The slices.', schema: SharpAnswer } },
    errors: ['log_busy'],
    example: {
      orchestration_id: 'trip-planner-7',
      agents: [{ id: 'planner' }, { id: 'search' }, { id: 'booking' }],
      value_function: {
        type: 'table',
        values: {
          planner: 0,
          search: 0,
          booking: 20,
          'planner,search': 30,
          'planner,booking': 60,
          'search,booking': 40,
          'planner,search,booking': 100,
        },
      },
      amount_usd: 100,
    },
    cost: async ({ body, caller }) =>
      costOf(slicingIn(body, await playersOf(host, caller, body)).slicing.task),
    async handle(ctx) {
      const { body, caller } = ctx.state;
      const { orchestration_id, graph_id } = body;
      const players = await playersOf(host, caller, body);
      const { slicing, amount } = slicingIn(body, players);
      const slices = slicesOf(slicing, await POOL.compute(slicing.task), amount);
      const members = { ...slices, ...namedGraph(graph_id) };
      const inputs = { orchestration_id, ...players };
      await ctx.state.append([{ type: SHARP, members, private: { inputs } }]);
    },
    respond(entries, disclosures, { body }) {
      const entry = firstOf(entries);
      const { orchestration_id, agents } = body;
      const names = namesOf(agents, disclosures, 'agents', entry.statement['agents'] as number);
      return { ok: true, orchestration_id, ...slicesShown(entry, names), receipt: entry.receipt };
    },
  });
}

type SharpRequest = Static<ReturnType<typeof sharpBody>>;

/** The agents of a request and their game. */
interface Players {
  readonly agents: Graph['nodes'];
  readonly value_function: Static<typeof ValueFunction>;
}

async function playersOf(host: PluginHost, caller: Caller, body: SharpRequest): Promise<Players> {
  const { graph_id, agents, value_function } = body;
  if (graph_id === undefined) {
    return { agents: agents ?? [], value_function: value_function ?? { type: 'additive' } };
  }
  if (agents !== undefined) refuseBeside('agents');
  const { nodes, edges } = await registeredGraph(host, caller, graph_id);
  return { agents: nodes, value_function: value_function ?? { type: 'edges', edges } };
}

/** The computation that a request asks for. */
function slicingIn(
  body: SharpRequest,
  { agents, value_function }: Players,
): { readonly slicing: Slicing; readonly amount: bigint } {
  const amount = BigInt(millionthsOf(body.amount_usd, 'amount_usd'));
  const sample = {
    epsilon: millionthsOf(body.epsilon ?? 0.02, 'epsilon'),
    delta: millionthsOf(body.delta ?? 0.01, 'delta'),
    seed: body.seed,
  };
  const game = gameOf(agents, value_function);
  return { slicing: slicingOf(game, sample, amount), amount };
}

/** The answer for an entry, with the names of the request. */
function slicesShown(
  { entry_id, statement, receipt }: AnsweredEntry,
  names: readonly string[],
): JsonObject {
  const values = statement['shapley_values'] as readonly string[];
  const parts = statement['parts_micro_usd'] as readonly number[];
  const { epsilon = '', delta = '', seed = 0, seed_source = '', permutations = 0 } = statement;
  const { range = '' } = statement;
  return {
    sharp_entry_id: entry_id,
    method: statement['method'] ?? '',
    amount_usd: usdText(statement['amount_micro_usd']),
    worth: statement['worth'] ?? '',
    slices: names.map((id, at) => ({
      id,
      shapley_value: values[at] ?? '',
      amount_usd: usdText(parts[at]),
    })),
    ...(statement['method'] === 'exact'
      ? {}
      : {
          sample: {
            ...{ epsilon, delta, seed, seed_source, permutations, range },
            bound_usd: usdText(statement['bound_micro_usd']),
          },
        }),
    does_not_assert: Object.values(DOES_NOT_ASSERT),
    verify_url: receipt.verify_url,
  };
}
