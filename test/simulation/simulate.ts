// One run of one plan: what it found, and what identifies the run.

import { hash } from 'node:crypto';
import { base62 } from '../../gateway/tenants/base62.ts';
import { randomPiece } from '../../log/index.ts';
import { entryId } from '../../log/write/clock.ts';
import { ClusterRun } from './cluster-run.ts';
import { GatewayRun } from './gateway-run.ts';
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

/** The run of a plan in its world. */
async function runOf(plan: AnyPlan, world: World): Promise<LogRun | GatewayRun | ClusterRun> {
  switch (plan.world) {
    case 'cluster':
      return new ClusterRun(plan, world);
    case 'gateway':
      return GatewayRun.of(plan, world);
    case undefined:
      return new LogRun(plan, world);
  }
}

/** Runs a plan. */
export async function simulate(
  plan: AnyPlan,
  options: { readonly traced: boolean },
): Promise<Outcome> {
  const world = new World(plan.seed, { ...options, several: plan.world === 'cluster' });
  const run = await runOf(plan, world);
  let broken: Outcome['broken'] = null;
  await inWorld(world, async () => {
    freshRandomness();
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

/** Uses up the random bytes that an earlier run has left, so that each run draws its own from the start. */
function freshRandomness(): void {
  for (const draw of [() => entryId(0, 0), () => randomPiece(64), () => base62(1)]) {
    const { times } = filled;
    while (filled.times === times) draw();
  }
}
