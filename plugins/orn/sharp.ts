// SHARP slices: POST /api/v1/orn/sharp divides an amount among agents by Shapley's value. gateway/API.md §10.4, §14.
//
// The entry has everything that is needed to compute the slices again from the inputs that it commits to.

import { randomInt } from 'node:crypto';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { ApiError, receiptOf, route } from '../contract/index.ts';
import type { AnsweredEntry, JsonObject, PluginHost, Route } from '../contract/index.ts';
import { DOES_NOT_ASSERT, SHARP, SharpMembers, sharpType } from './entries.ts';
import { gameOf, ValueFunction } from './game-request.ts';
import { rangeOf, worthOf } from './game.ts';
import type { Game } from './game.ts';
import {
  apportion,
  DecimalText,
  MAX_NAMED,
  millionthsOf,
  millionthsText,
  Named,
  onlyEntry,
  rounded,
  statedMicroUsd,
  UsdInput,
  usdText,
} from './members.ts';
import { EXACT_AGENTS, permutationsFor } from './shapley.ts';
import type { Bound, Shapley, ShapleyTask } from './shapley.ts';
import { costOf, SharpPool, stepsOf } from './sharp-pool.ts';

/** The most steps of a task: some hundreds of milliseconds in its thread. */
const MAX_STEPS = 30_000_000;
/** Seeds that the service draws are below it; a caller's may be any safe integer. */
const SEEDS = 2 ** 47;

/** What a request says of a sample, where there is one. */
interface SampleRequest {
  /** Share of the amount that a part may be off, in millionths. */
  readonly epsilon: number;
  /** Probability that one is off more, in millionths. */
  readonly delta: number;
  /** Drawn by the service where the request has none. */
  readonly seed: number | undefined;
}

/** A task, and what of it stands in the entry. */
interface Slicing {
  readonly task: ShapleyTask;
  readonly sampled: JsonObject;
}

/** How the game is computed: whole, or by a sample that keeps the bound asked for; 400 where that takes too long. */
function slicingOf(game: Game, { epsilon, delta, seed }: SampleRequest, amount: bigint): Slicing {
  if (worthOf(game) === 0) {
    const message = 'all agents together are worth no more than none: there is nothing to part by';
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
      // Rounding a part may take a micro-USD more.
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
      agents: Type.Array(Named, { minItems: 1, maxItems: MAX_NAMED }),
      value_function: ValueFunction,
      amount_usd: UsdInput,
      epsilon: Type.Optional(
        Type.Number({
          ...{ minimum: 0.001, maximum: 0.5, default: 0.02 },
          description: 'Above 16 agents: the share of the amount that a part may be off.',
        }),
      ),
      delta: Type.Optional(
        Type.Number({
          ...{ minimum: 0.000_001, maximum: 0.5, default: 0.01 },
          description: 'Above 16 agents: the probability that any part is off more.',
        }),
      ),
      seed: Type.Optional(
        Type.Integer({
          ...{ minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
          description: 'Above 16 agents: of the permutations; drawn by the service when left out.',
        }),
      ),
    },
    { $id: 'SharpRequest' },
  );

/** One thread for all gateways of the process. */
const POOL = new SharpPool();

/** The route of SHARP. */
export function sharpRoute(host: PluginHost): Route {
  return route({
    method: 'POST',
    path: '/api/v1/orn/sharp',
    tag: 'orn',
    summary: 'Part an amount among agents by what each contributed: SHARP slices',
    description:
      'Shapley’s value of each agent: exact up to 16 agents, above by permutations that the seed draws again, ' +
      'with the bound that they keep. Parts sum to the amount to the micro-USD. The entry has the result and ' +
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
    cost: ({ body }) => costOf(slicingIn(body).slicing.task),
    async handle(ctx) {
      const { orchestration_id, agents, value_function } = ctx.state.body;
      const { slicing, amount } = slicingIn(ctx.state.body);
      const members = slicesOf(slicing, await POOL.compute(slicing.task), amount);
      const inputs = { orchestration_id, agents, value_function };
      await ctx.state.append([{ type: SHARP, members, private: { inputs } }]);
    },
    respond(entries, _, { body }) {
      const entry = onlyEntry(entries);
      const { orchestration_id, agents } = body;
      return { ok: true, orchestration_id, ...slicesShown(entry, agents), receipt: entry.receipt };
    },
  });
}

type SharpRequest = Static<ReturnType<typeof sharpBody>>;

/** What a request asks to be computed. */
function slicingIn(body: SharpRequest): { readonly slicing: Slicing; readonly amount: bigint } {
  const amount = BigInt(millionthsOf(body.amount_usd, 'amount_usd'));
  const sample = {
    epsilon: millionthsOf(body.epsilon ?? 0.02, 'epsilon'),
    delta: millionthsOf(body.delta ?? 0.01, 'delta'),
    seed: body.seed,
  };
  const game = gameOf(body.agents, body.value_function);
  return { slicing: slicingOf(game, sample, amount), amount };
}

/** An entry as its answer shows it, with the names of the request. */
function slicesShown(
  { entry_id, statement, receipt }: AnsweredEntry,
  agents: readonly { readonly id: string }[],
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
    slices: agents.map(({ id }, at) => ({
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
