// npm run test:mutants [-- --only TEXT]: plants each fault of mutants.ts alone and runs seeds until one finds it. Prints
// a row of a table for each, and fails if a fault stays unfound.

import { parseArgs } from 'node:util';
import { CLUSTER_MUTANTS } from './cluster-mutants.ts';
import { GATEWAY_MUTANTS } from './gateway-mutants.ts';
import { MUTANTS, replacementsOf } from './mutants.ts';
import type { Mutant } from './mutants.ts';
import { Simulator } from './simulator.ts';

/** Seeds within which each fault must be found. */
const SEEDS = 500;

const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });

async function row(mutant: Mutant): Promise<string> {
  const simulator = await Simulator.start(replacementsOf(mutant));
  try {
    const { failures } = await simulator.seeds(mutant.world, 1, SEEDS, true);
    const [found] = failures;
    if (found === undefined) process.exitCode = 1;
    const by = found === undefined ? 'not found |' : `${found.kind} | ${String(found.seed)}`;
    return `| ${mutant.fault} | \`${mutant.file}\` | ${by} |`;
  } finally {
    await simulator.close();
  }
}

const chosen = [...MUTANTS, ...GATEWAY_MUTANTS, ...CLUSTER_MUTANTS].filter(({ fault }) =>
  fault.includes(values.only),
);
if (chosen.length === 0) throw new Error(`no fault has the text of --only: ${values.only}`);
console.log('| fault | file | found as | seed |\n| --- | --- | --- | --- |');
for (const mutant of chosen) console.log(await row(mutant));
