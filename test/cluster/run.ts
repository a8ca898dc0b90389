// `npm run test:cluster -- --rounds N --seed S`: so many random faults over three nodes; see cluster-run.ts.

import { parseArgs } from 'node:util';
import { Cluster, FAULTS, seeded, strike } from './cluster-run.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '50' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string' },
  },
});
const rounds = Number(values.rounds);
const seed = Number(values.seed);
console.log(`${String(rounds)} rounds with seed ${String(seed)}`);
const chance = seeded(seed);
const cluster = await Cluster.start(chance);
try {
  const names = Object.keys(FAULTS).filter(
    (name) => values.only === undefined || name.includes(values.only),
  );
  for (let round = 1; round <= rounds; round += 1) {
    const name = cluster.pick(names);
    const ms = await strike(cluster, name);
    console.log(
      `${String(round)}/${String(rounds)} ${name}: recovered in ${String(ms)} ms; ${String(cluster.receipts)} receipts, ` +
        `${String(cluster.checkpoints)} checkpoints`,
    );
  }
  await cluster.audit(true);
  console.log(
    `0 of ${String(cluster.receipts)} receipts lost, 0 of ${String(cluster.checkpoints)} sizes with two roots`,
  );
} finally {
  await cluster.close();
}
