// `npm run test:cluster -- --rounds N --seed S`: so many random faults over three nodes; see cluster-run.ts.
// `npm run test:cluster -- --suites [FILE...]`: the suites of the HTTP interface through a node that follows; see suites.ts.

import { parseArgs } from 'node:util';
import { Cluster, seeded } from './cluster-run.ts';
import { FAULTS, strike } from './faults.ts';
import { runSuites } from './suites.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '50' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string' },
    suites: { type: 'boolean', default: false },
  },
});
if (values.suites) {
  const code = await runSuites(positionals);
  if (code === null) throw new Error('PostgreSQL is not installed');
  process.exit(code);
}
const rounds = Number(values.rounds);
const seed = Number(values.seed);
console.log(`${String(rounds)} rounds with seed ${String(seed)}`);
const names = Object.keys(FAULTS).filter(
  (name) => values.only === undefined || name.includes(values.only),
);
if (names.length === 0) throw new Error(`no fault has "${values.only ?? ''}" in its name`);
// Small snapshots are written and trimmed often. Threads would only make each of the many starts slower.
const settings = {
  CLUSTER_SNAPSHOT_BYTES: '262144',
  CHECKPOINT_INTERVAL_MS: '500',
  THREADS: 'off',
};
const began = Date.now();
const seconds = (): string => `${String(Math.round((Date.now() - began) / 1000))} s`;
const cluster = await Cluster.start(seeded(seed), { settings, observed: true });
try {
  for (let round = 1; round <= rounds; round += 1) {
    const name = cluster.pick(names);
    process.stdout.write(`${String(round)}/${String(rounds)} ${name}: `);
    const ms = await strike(cluster, name);
    console.log(
      `recovered in ${String(ms)} ms; ${String(cluster.receipts)} receipts, ` +
        `${String(cluster.checkpoints)} checkpoints, ${seconds()}`,
    );
  }
  await cluster.audit(true);
  console.log(
    `passed: ${String(rounds)} rounds, 0 of ${String(cluster.receipts)} receipts lost, ` +
      `0 of ${String(cluster.checkpoints)} sizes with two roots, ${seconds()}`,
  );
} finally {
  await cluster.close();
}
