// One run of one plan: what it found, and what identifies the run.

import { hash } from 'node:crypto';
import { entryId } from '../../log/write/clock.ts';
import { LogRun } from './log-run.ts';
import { filled } from './world/crypto.ts';
import { Broken, inWorld, World } from './world/world.ts';
import type { AnyPlan } from './worlds.ts';

export interface Outcome {
  readonly broken: { readonly kind: string; readonly message: string } | null;
  /** What happened, if the run was traced. */
  readonly lines: readonly string[];
  readonly events: number;
  readonly entries: number;
  /** A digest of every line, if the run was traced: two runs of one seed have the same. */
  readonly digest: string;
}

/** Runs a plan. */
export async function simulate(
  plan: AnyPlan,
  options: { readonly traced: boolean },
): Promise<Outcome> {
  const world = new World(plan.seed, options);
  const run = new LogRun(plan, world);
  let broken: Outcome['broken'] = null;
  await inWorld(world, async () => {
    freshIds();
    try {
      await run.run();
      if (world.broken !== null) throw world.broken;
    } catch (error) {
      const { message, stack = message } = error as Error;
      broken =
        error instanceof Broken ? { kind: error.kind, message } : { kind: 'crash', message: stack };
    }
  });
  const lines = world.lines ?? [];
  return {
    broken,
    lines,
    events: world.events,
    entries: run.entries,
    digest: hash('sha256', lines.join('\n')),
  };
}

/** Uses up the random bytes that an earlier run has left for ids, so that each run draws its own from the start. */
function freshIds(): void {
  const { times } = filled;
  while (filled.times === times) entryId(0, 0);
}
