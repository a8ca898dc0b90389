// Shapley values as exact fractions: of every coalition, or of sampled permutations. Shapley 1953.
// Pure, and the same from the same input; it runs in the thread where it is long.

import { lowest, rangeOf, valuesOf, walkOf, worthOf } from './game.ts';
import type { Game } from './game.ts';
import { drawer, shuffle } from './permutations.ts';
import { Sums } from './sums.ts';

/** Values of all agents: `credits[i] / divisor`, in millionths. The sum is what all are worth more than none. */
export interface Shapley {
  readonly credits: readonly bigint[];
  readonly divisor: bigint;
}

/** What is to be computed: every coalition, or a sample. */
export interface ShapleyTask {
  readonly game: Game;
  readonly sample: { readonly seed: number; readonly permutations: number } | null;
}

/** The most agents whose coalitions are all looked at. */
export const EXACT_AGENTS = 16;

/** The values of a task. */
export function shapleyOf({ game, sample }: ShapleyTask): Shapley {
  return sample === null
    ? exactShapley(game)
    : sampledShapley(game, sample.seed, sample.permutations);
}

/**
 * φᵢ = Σ over the coalitions S without i of |S|! (n−|S|−1)! / n! · (v(S ∪ i) − v(S)); the divisor is n!.
 * For each size, the coalitions that i completes are worth A, and those of one agent less without i what is left
 * of all of that size: so each coalition is looked at once.
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

/** The mean of the marginal contributions along permutations that the seed draws; the divisor is their number. */
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

/** What a sample promises: no agent's share of the worth of all is off by `epsilon`, but with probability `delta`. */
export interface Bound {
  readonly epsilon: number;
  readonly delta: number;
}

/**
 * The permutations that keep the bound, by Hoeffding over the marginal contributions of each agent, and the union
 * over all agents: m ≥ r² ln(2n/δ) / (2 (ε · worth)²). Infinite where the worth is 0.
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
