// Makes a failing plan smaller: fewer steps, fewer completions between them, and habits left out, as long as the run
// breaks the same promise.

import { simulate } from './simulate.ts';
import { habitsOf } from './worlds.ts';
import type { AnyPlan } from './worlds.ts';

/** Most runs that shrinking one plan may take. */
const MOST_RUNS = 400;

/** The smallest plan found that breaks the promise of this kind. */
export async function shrink(plan: AnyPlan, kind: string): Promise<AnyPlan> {
  let runs = 0;
  let best = plan;
  const better = async (candidate: AnyPlan): Promise<boolean> => {
    if (runs >= MOST_RUNS) return false;
    runs += 1;
    const { broken } = await simulate(candidate, { traced: false });
    if (broken?.kind !== kind) return false;
    best = candidate;
    return true;
  };
  for (const habits of habitsOf(plan)) await better({ ...best, ...habits });
  for (
    let size = Math.ceil(best.steps.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let at = 0; at < best.steps.length;) {
      const steps = [...best.steps.slice(0, at), ...best.steps.slice(at + size)];
      if (!(await better(withSteps(best, steps)))) at += size;
    }
  }
  for (const turns of [0, 3, 20]) {
    for (let at = 0; at < best.steps.length; at += 1) {
      const step = best.steps[at];
      if (step === undefined || step.turns <= turns) continue;
      const steps = best.steps.map((one, i) => (i === at ? { ...one, turns } : one));
      await better(withSteps(best, steps));
    }
  }
  return best;
}

/** @param steps some of the steps of the plan */
const withSteps = (plan: AnyPlan, steps: readonly object[]): AnyPlan =>
  ({ ...plan, steps }) as AnyPlan;
