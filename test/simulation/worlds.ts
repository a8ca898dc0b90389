// The kinds of worlds that a seed can be run in, and the plan of a seed in each.

import { clusterPlanOf } from './cluster-plan.ts';
import type { ClusterPlan } from './cluster-plan.ts';
import { gatewayPlanOf } from './gateway-plan.ts';
import type { GatewayPlan } from './gateway-plan.ts';
import { planOf as logPlanOf } from './plan.ts';
import type { Plan as LogPlan } from './plan.ts';
import { Random } from './world/random.ts';

/** The plan of a run. One without `world` is of the log alone. */
export type AnyPlan = (LogPlan & { readonly world?: undefined }) | GatewayPlan | ClusterPlan;

/** How often each world is drawn for a seed, and how its plan is drawn. */
const WORLDS = {
  log: { weight: 3, planOf: logPlanOf },
  gateway: { weight: 1, planOf: gatewayPlanOf },
  cluster: { weight: 1, planOf: clusterPlanOf },
} as const satisfies Record<
  string,
  { readonly weight: number; readonly planOf: (seed: string) => AnyPlan }
>;

export type WorldName = keyof typeof WORLDS;

/** The world of every run; null for the one that the seed draws. */
export type WorldChoice = WorldName | null;

/**
 * The world of a name; null for `all`.
 *
 * @throws Error if there is no such world
 */
export function worldNamed(name: string): WorldChoice {
  if (name === 'all') return null;
  if (name in WORLDS) return name as WorldName;
  throw new Error(`--world is all or one of ${Object.keys(WORLDS).join(', ')}`);
}

/** The plan of a seed. */
export function planOf(seed: string, world: WorldChoice): AnyPlan {
  const weights = Object.fromEntries(
    Object.entries(WORLDS).map(([name, { weight }]) => [name, weight]),
  ) as Record<WorldName, number>;
  return WORLDS[world ?? new Random(`${seed} world`).weighted(weights)].planOf(seed);
}

/** Settings of a plan that make its run simpler, tried one after the other while a plan is shrunk. */
export function habitsOf(plan: AnyPlan): readonly object[] {
  if (plan.world === 'gateway') return [{ first: false }, { interval_ms: 1000 }];
  if (plan.world === 'cluster') {
    return [
      { witnesses: 0, quorum: 0 },
      { skews_ms: [0, 0, 0] },
      { nodes: 2 },
      { idle_ms: 60_000 },
      { snapshot_bytes: 1_000_000 },
    ];
  }
  return [{ lying: null }, { witnesses: 0, quorum: 0 }, { idle_ms: 60_000 }, { interval_ms: 1000 }];
}
