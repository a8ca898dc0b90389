// Parting an amount among sixteen agents, exactly and off the event loop, against the textbook sum in floats on the
// calling thread; and how long one takes.

import { SharpPool } from '../../plugins/orn/sharp-pool.ts';
import type { Link } from '../../plugins/orn/game.ts';
import type { ShapleyTask } from '../../plugins/orn/shapley.ts';
import { interleave, median, stealMeter } from './figure.ts';
import type { Bench } from './figure.ts';

const AGENTS = 16;

const EDGES: readonly Link[] = Array.from({ length: AGENTS }, (_, from) => from).flatMap((from) =>
  Array.from({ length: from }, (_, to): Link => [from, to, ((from * 7 + to * 3) % 11) * 1_000_000]),
);

/** Shapley's value of 16 agents whose every two have an edge. */
export const shapley: Bench = {
  name: 'orn',
  run: async ({ quick }) => {
    const pool = new SharpPool();
    const task: ShapleyTask = {
      game: { type: 'edges', agents: AGENTS, edges: EDGES },
      sample: null,
    };
    await pool.compute(task); // the thread starts
    textbook(EDGES);
    const took: number[] = [];
    const steal = stealMeter();
    const parts = await interleave(quick ? 5 : 15, {
      exact: () =>
        rateOf(async () => {
          const start = performance.now();
          await pool.compute(task);
          took.push(performance.now() - start);
        }),
      textbook: () => rateOf(() => Promise.resolve(textbook(EDGES))),
    });
    const common = { steal: steal(), parts };
    return [
      {
        ...{ ...common, name: 'orn.shapley', unit: 'ratio', better: 'higher' },
        what: 'exact Shapley values of 16 agents over edges, in their thread ÷ the textbook sum in floats',
        ...{ at_least: 2, aim: 5 },
        value: parts.exact / parts.textbook,
      },
      {
        ...{ ...common, name: 'orn.shapley_ms', unit: 'ms', better: 'lower' },
        what: 'exact Shapley values of 16 agents over edges, in their thread',
        ...{ at_least: 250, aim: 50 },
        value: median(took),
      },
    ];
  },
};

/** The definition, weight by difference, each coalition valued once. */
function textbook(edges: readonly Link[]): number[] {
  const worth = Array.from({ length: 2 ** AGENTS }, (_, mask) => {
    let sum = 0;
    for (const [from, to, weight] of edges) {
      if ((mask & (1 << from)) !== 0 && (mask & (1 << to)) !== 0) sum += weight;
    }
    return sum;
  });
  const factorial = [1];
  for (let k = 1; k <= AGENTS; k += 1) factorial.push((factorial[k - 1] ?? 1) * k);
  const chance = Array.from(
    { length: AGENTS },
    (_, size) =>
      ((factorial[size] ?? 1) * (factorial[AGENTS - size - 1] ?? 1)) / (factorial[AGENTS] ?? 1),
  );
  return Array.from({ length: AGENTS }, (_, agent) => {
    let value = 0;
    for (let mask = 0; mask < worth.length; mask += 1) {
      if ((mask & (1 << agent)) !== 0) continue;
      let size = 0;
      for (let rest = mask; rest !== 0; rest &= rest - 1) size += 1;
      value += (chance[size] ?? 0) * ((worth[mask | (1 << agent)] ?? 0) - (worth[mask] ?? 0));
    }
    return value;
  });
}

/** How often a second one does it. */
async function rateOf(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return 1000 / (performance.now() - start);
}
