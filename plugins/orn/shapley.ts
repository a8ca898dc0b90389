// Shapley values as exact fractions, over all coalitions or over sampled permutations (Shapley 1953).
//
// Pure, deterministic and without request types, because long computations run in a worker thread. Permutations are
// drawn from SHAKE128 (FIPS 202) with the Fisher-Yates shuffle, so a verifier can draw them again from the seed.

import { createHash } from 'node:crypto';
import { lowest, rangeOf, valuesOf, walkOf, worthOf } from './game.ts';
import type { Game } from './game.ts';

/** Domain separator of the random source; a changed rule needs a new one. */
const LABEL = 'actlog/orn/sharp/v1';
const BLOCK_BYTES = 65_536;
const WORDS = 2 ** 32;

/**
 * Uniform integers below a bound. The source is the sequence of blocks SHAKE128(label ‖ u64 seed ‖ u64 block number),
 * numbered from 0, of 65,536 bytes each, read as big-endian u32 words. A word that is not below the largest multiple of
 * the bound is skipped; otherwise the result is the word modulo the bound.
 */
export function drawer(seed: number): (below: number) => number {
  const input = Buffer.alloc(LABEL.length + 16);
  input.write(LABEL, 'ascii');
  input.writeBigUInt64BE(BigInt(seed), LABEL.length);
  let number = 0;
  let block = Buffer.alloc(0);
  let at = 0;
  const word = (): number => {
    if (at === block.length) {
      input.writeBigUInt64BE(BigInt(number), LABEL.length + 8);
      block = createHash('shake128', { outputLength: BLOCK_BYTES }).update(input).digest();
      number += 1;
      at = 0;
    }
    at += 4;
    return block.readUInt32BE(at - 4);
  };
  return (below) => {
    const end = WORDS - (WORDS % below);
    let drawn = word();
    while (drawn >= end) drawn = word();
    return drawn % below;
  };
}

/** Fisher-Yates shuffle: for k from the last index down to 1, swaps element k with a drawn element 0 to k. */
export function shuffle(order: Uint32Array, draw: (below: number) => number): void {
  for (let at = 0; at < order.length; at += 1) order[at] = at;
  for (let k = order.length - 1; k > 0; k -= 1) {
    const other = draw(k + 1);
    const kept = order[k] ?? 0;
    order[k] = order[other] ?? 0;
    order[other] = kept;
  }
}

/** An array of exact sums, initially 0. */
export class Sums {
  readonly #near: Float64Array;
  readonly #far: bigint[];

  constructor(count: number) {
    this.#near = new Float64Array(count);
    this.#far = new Array<bigint>(count).fill(0n);
  }

  /** Adds a safe integer to the sum at an index. */
  add(at: number, value: number): void {
    const near = this.#near[at] ?? 0;
    const sum = near + value;
    if (Number.isSafeInteger(sum)) {
      this.#near[at] = sum;
      return;
    }
    this.#far[at] = (this.#far[at] ?? 0n) + BigInt(near);
    this.#near[at] = value;
  }

  get(at: number): bigint {
    return (this.#far[at] ?? 0n) + BigInt(this.#near[at] ?? 0);
  }
}

/** The values of all agents, `credits[i] / divisor` in millionths. Their sum is the worth of the game. */
export interface Shapley {
  readonly credits: readonly bigint[];
  readonly divisor: bigint;
}

/** A computation: over all coalitions, or over a sample. */
export interface ShapleyTask {
  readonly game: Game;
  readonly sample: { readonly seed: number; readonly permutations: number } | null;
}

/** Largest number of agents for which all coalitions are computed. */
export const EXACT_AGENTS = 16;

/** Computes a task. */
export function shapleyOf({ game, sample }: ShapleyTask): Shapley {
  return sample === null
    ? exactShapley(game)
    : sampledShapley(game, sample.seed, sample.permutations);
}

/** The jobs of the allocation thread, see sharp-pool.ts. */
export const threadJobs = {
  url: import.meta.url,
  make: () => ({ compute: { run: shapleyOf } }),
};

/**
 * φᵢ = Σ over the coalitions S without i of |S|! (n−|S|−1)! / n! · (v(S ∪ i) − v(S)); the divisor is n!.
 * For each size s, the sum over coalitions with i is accumulated directly, and the sum over coalitions of size s
 * without i is the sum over all of that size minus those with i. Each coalition is therefore visited once.
 */
export function exactShapley(game: Game): Shapley {
  const n = game.agents;
  if (n > EXACT_AGENTS) throw new Error(`${String(n)} agents have too many coalitions`);
  const values = valuesOf(game);
  const ofSize = new Sums(n + 1);
  const withAgent = new Sums(n * (n + 1));
  for (let mask = 0; mask < values.length; mask += 1) {
    const worth = values[mask] ?? 0;
    const size = bits(mask);
    ofSize.add(size, worth);
    for (let rest = mask; rest !== 0; rest &= rest - 1) {
      withAgent.add(lowest(rest) * (n + 1) + size, worth);
    }
  }
  const factorial = factorials(n);
  const credits = Array.from({ length: n }, (_, agent) => {
    let credit = 0n;
    for (let size = 0; size < n; size += 1) {
      const joined = withAgent.get(agent * (n + 1) + size + 1);
      const without = ofSize.get(size) - withAgent.get(agent * (n + 1) + size);
      credit += (factorial[size] ?? 1n) * (factorial[n - size - 1] ?? 1n) * (joined - without);
    }
    return credit;
  });
  return { credits, divisor: factorial[n] ?? 1n };
}

/** The mean marginal contributions over permutations drawn from the seed; the divisor is their number. */
export function sampledShapley(game: Game, seed: number, permutations: number): Shapley {
  const sums = new Sums(game.agents);
  const order = new Uint32Array(game.agents);
  const draw = drawer(seed);
  const walk = walkOf(game);
  for (let drawn = 0; drawn < permutations; drawn += 1) {
    shuffle(order, draw);
    walk.reset();
    for (const agent of order) sums.add(agent, walk.add(agent));
  }
  const credits = Array.from(order, (_, agent) => sums.get(agent));
  return { credits, divisor: BigInt(permutations) };
}

/**
 * The guarantee of a sample: with probability 1 - `delta`, no agent's share of the worth is off by `epsilon` or more.
 */
export interface Bound {
  readonly epsilon: number;
  readonly delta: number;
}

/**
 * The number of permutations that guarantees the bound, by Hoeffding's inequality for each agent and the union bound
 * over all agents: m ≥ r² ln(2n/δ) / (2 (ε · worth)²). Infinite if the worth is 0.
 */
export function permutationsFor(game: Game, { epsilon, delta }: Bound): number {
  const spread = rangeOf(game) / Math.abs(worthOf(game));
  const m = (spread ** 2 * Math.log((2 * game.agents) / delta)) / (2 * epsilon ** 2);
  return Math.max(1, Math.ceil(m));
}

function bits(mask: number): number {
  let count = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}

function factorials(n: number): bigint[] {
  const values = [1n];
  for (let k = 1; k <= n; k += 1) values.push((values[k - 1] ?? 1n) * BigInt(k));
  return values;
}
