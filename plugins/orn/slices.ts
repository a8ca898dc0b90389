// SHARP slices: an amount parted among agents by Shapley's value, with all that makes it computable again.
// gateway/API.md §10.4.

import { randomInt } from 'node:crypto';
import { ApiError } from '../contract.ts';
import type { JsonObject } from '../contract.ts';
import { millionthsText, statedMicroUsd } from './members.ts';
import { apportion, rounded } from './apportion.ts';
import { DOES_NOT_ASSERT } from './entries.ts';
import { rangeOf, worthOf } from './game.ts';
import type { Game } from './game.ts';
import { EXACT_AGENTS, permutationsFor } from './shapley.ts';
import type { Bound, Shapley, ShapleyTask } from './shapley.ts';
import { stepsOf } from './sharp-pool.ts';

/** The most steps of a task: some hundreds of milliseconds in its thread. */
const MAX_STEPS = 30_000_000;
/** Seeds that the service draws are below it; a caller's may be any safe integer. */
const SEEDS = 2 ** 47;

/** What a request says of a sample, where there is one. */
export interface SampleRequest {
  /** Share of the amount that a part may be off, in millionths. */
  readonly epsilon: number;
  /** Probability that one is off more, in millionths. */
  readonly delta: number;
  /** Drawn by the service where the request has none. */
  readonly seed: number | undefined;
}

/** A task, and what of it stands in the entry. */
export interface Slicing {
  readonly task: ShapleyTask;
  readonly sampled: JsonObject;
}

/** How the game is computed: whole, or by a sample that keeps the bound asked for; 400 where that takes too long. */
export function slicingOf(
  game: Game,
  { epsilon, delta, seed }: SampleRequest,
  amount: bigint,
): Slicing {
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
export function slicesOf(
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
