// npm run test:simulation -- --seeds N --from S [--world NAME]: runs seeds on simulated machines. Of the first seed that breaks a
// promise it prints the shrunk plan, which regressions.json can keep, and the trace of its run.

import { parseArgs } from 'node:util';
import { Simulator } from './simulator.ts';
import { planOf, worldNamed } from './worlds.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '500' },
    from: { type: 'string', default: '1' },
    world: { type: 'string', default: 'all' },
  },
});
const world = worldNamed(values.world);
const [count, from] = [Number(values.seeds), Number(values.from)];
if (!Number.isSafeInteger(count) || count < 1 || !Number.isSafeInteger(from)) {
  throw new Error('--seeds is a whole number of at least 1, and --from a whole number');
}

/** Seeds between two lines of progress. */
const PART = 500;

const simulator = await Simulator.start();
const start_ms = performance.now();
let [runs, events, entries] = [0, 0, 0];
try {
  for (let seed = from; seed < from + count; seed += PART) {
    const part = await simulator.seeds(world, seed, Math.min(PART, from + count - seed), true);
    runs += part.runs;
    events += part.events;
    entries += part.entries;
    const [failure] = part.failures;
    if (failure !== undefined) {
      console.log(`seed ${String(failure.seed)} breaks a promise: ${failure.message}\n`);
      const { plan, outcome } = await simulator.plan(planOf(String(failure.seed), world), {
        shrink: true,
      });
      console.log(
        `${outcome.lines.join('\n')}\n\n${outcome.broken?.message ?? ''}\n\n${JSON.stringify(plan)}`,
      );
      process.exitCode = 1;
      break;
    }
    const seconds = ((performance.now() - start_ms) / 1000).toFixed(0);
    console.log(
      `seeds ${String(from)} to ${String(from + runs - 1)}: ${String(events)} completions, ${String(entries)} ` +
        `published entries, ${seconds} s, no promise broken`,
    );
  }
} finally {
  await simulator.close();
}
