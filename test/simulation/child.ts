// The simulation as a process of its own (link.ts): takes orders as lines of JSON and answers each with a line.

import { createInterface } from 'node:readline';
import { shrink } from './shrink.ts';
import { simulate } from './simulate.ts';
import type { Outcome } from './simulate.ts';
import { planOf } from './worlds.ts';
import type { AnyPlan, WorldChoice } from './worlds.ts';

/** Runs seeds in turn. With `until_broken` it stops at the first one that breaks a promise. */
interface SeedsOrder {
  readonly from: number;
  readonly count: number;
  readonly until_broken: boolean;
  readonly world: WorldChoice;
}

/** Runs one plan, or shrinks it first. */
interface PlanOrder {
  readonly plan: AnyPlan;
  readonly shrink: boolean;
}

export type Order = SeedsOrder | PlanOrder;

/** A seed that broke a promise. */
export interface Failure {
  readonly seed: number;
  readonly kind: string;
  readonly message: string;
}

export interface SeedsAnswer {
  readonly runs: number;
  readonly events: number;
  readonly entries: number;
  readonly failures: readonly Failure[];
}

export interface PlanAnswer {
  readonly plan: AnyPlan;
  readonly outcome: Outcome;
}

async function seeds({ from, count, until_broken, world }: SeedsOrder): Promise<SeedsAnswer> {
  const failures: Failure[] = [];
  let [runs, events, entries] = [0, 0, 0];
  for (let seed = from; seed < from + count; seed += 1) {
    const outcome = await simulate(planOf(String(seed), world), { traced: false });
    runs += 1;
    events += outcome.events;
    entries += outcome.entries;
    if (outcome.broken === null) continue;
    failures.push({ seed, ...outcome.broken });
    if (until_broken) break;
  }
  return { runs, events, entries, failures };
}

async function onePlan(order: PlanOrder): Promise<PlanAnswer> {
  let { plan } = order;
  if (order.shrink) {
    const { broken } = await simulate(plan, { traced: false });
    if (broken !== null) plan = await shrink(plan, broken.kind);
  }
  return { plan, outcome: await simulate(plan, { traced: true }) };
}

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line) as Order;
  const answer = 'plan' in order ? await onePlan(order) : await seeds(order);
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
