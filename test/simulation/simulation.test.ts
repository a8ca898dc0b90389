// 500 seeds of the simulation, the plans that once found a fault, and that a seed replays exactly. More seeds:
// npm run test:simulation.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { CLUSTER_MUTANTS } from './cluster-mutants.ts';
import { GATEWAY_MUTANTS } from './gateway-mutants.ts';
import { MUTANTS, replacementsOf } from './mutants.ts';
import { Simulator } from './simulator.ts';
import { planOf } from './worlds.ts';
import type { AnyPlan } from './worlds.ts';

const SEEDS = 400;
const CLUSTER_SEEDS = 70;
/** A run of a gateway takes as long as four of a log. */
const GATEWAY_SEEDS = 30;

interface Regression {
  readonly found: string;
  readonly plan: AnyPlan;
}

describe('simulation', function () {
  this.timeout(300_000);
  let simulator: Simulator;

  before(async () => {
    simulator = await Simulator.start();
  });
  after(() => simulator.close());

  it('replays a seed line by line', async () => {
    for (const [seed, world] of [
      ['7', 'log'],
      ['19', 'log'],
      ['7', 'gateway'],
      ['7', 'cluster'],
    ] as const) {
      const one = await simulator.plan(planOf(seed, world));
      await simulator.seeds(world, 1, 2);
      const two = await simulator.plan(planOf(seed, world));
      assert.ok(one.outcome.lines.length > 50);
      assert.deepEqual(two.outcome.lines, one.outcome.lines);
    }
  });

  it(`keeps every promise over ${String(SEEDS)} seeds`, async () => {
    const { failures, runs } = await simulator.seeds('log', 1, SEEDS);
    assert.deepEqual(failures, []);
    assert.equal(runs, SEEDS);
  });

  it(`keeps the promises of a gateway over ${String(GATEWAY_SEEDS)} seeds`, async () => {
    const { failures, runs } = await simulator.seeds('gateway', 1, GATEWAY_SEEDS);
    assert.deepEqual(failures, []);
    assert.equal(runs, GATEWAY_SEEDS);
  });

  it(`keeps the promises of a cluster over ${String(CLUSTER_SEEDS)} seeds`, async () => {
    const { failures, runs } = await simulator.seeds('cluster', 1, CLUSTER_SEEDS);
    assert.deepEqual(failures, []);
    assert.equal(runs, CLUSTER_SEEDS);
  });

  it('keeps the promises that seeds once found broken', async () => {
    const text = await readFile(new URL('regressions.json', import.meta.url), 'utf8');
    for (const { found, plan } of JSON.parse(text) as Regression[]) {
      const { outcome } = await simulator.plan(plan);
      assert.equal(outcome.broken, null, found);
    }
  });

  it('can plant each of its faults: the source has the text that a fault replaces once', async () => {
    for (const mutant of [...MUTANTS, ...GATEWAY_MUTANTS, ...CLUSTER_MUTANTS]) {
      for (const { file, from } of replacementsOf(mutant)) {
        const source = await readFile(file, 'utf8');
        assert.equal(source.split(from).length, 2, `${file}: ${mutant.fault}`);
      }
    }
  });
});
