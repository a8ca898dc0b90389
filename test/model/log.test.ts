// The model of log.qnt in Quint's simulator: with all safeguards in force no invariant fails, and each safeguard that is
// left out breaks one. ACTLOG_MODEL_SAMPLES sets the number of traces of a sound model.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const quint = fileURLToPath(import.meta.resolve('@informalsystems/quint/dist/src/cli.js'));
const model = fileURLToPath(new URL('log.qnt', import.meta.url));

const SAMPLES = Number(process.env['ACTLOG_MODEL_SAMPLES'] ?? 60);
const STEPS = 50;

const INVARIANTS = [
  ...['receiptsKept', 'appendedOnce', 'oneHistory', 'witnessedHistory', 'publishedHistory'],
  ...['rememberedFirst', 'oneSuccessor'],
];

interface Simulated {
  readonly exit: number;
  readonly output: string;
}

/** Runs a module of the model. Its random choices follow from the seed alone. */
const simulate = (
  module: string,
  options: { seed: string; samples: number; witnesses?: readonly string[] },
): Promise<Simulated> => {
  const { seed, samples, witnesses = [] } = options;
  const args = [
    ...[quint, 'run', model, '--backend', 'typescript', '--verbosity', '1', '--main', module],
    ...['--seed', seed, '--max-samples', String(samples), '--max-steps', String(STEPS)],
    ...['--invariants', ...INVARIANTS],
    ...(witnesses.length === 0 ? [] : ['--witnesses', ...witnesses]),
  ];
  return new Promise((resolve) => {
    execFile(process.execPath, args, (error, stdout, stderr) => {
      resolve({ exit: Number(error?.code ?? 0), output: stdout + stderr });
    });
  });
};

/** The number of traces that reached a state. */
const reached = (output: string, witness: string): number =>
  Number(new RegExp(`^${witness} was witnessed in (\\d+) `, 'm').exec(output)?.[1] ?? 0);

describe('test/model: a log in a cluster', () => {
  for (const [module, witnesses] of [
    ['sound', ['publishesTwice', 'changesLeader', 'succeeds']],
    ['losing', ['publishesAfterLoss', 'changesLeader']],
  ] as const) {
    it(`${module}: no invariant fails, and the traces reach ${witnesses.join(', ')}`, async () => {
      const { exit, output } = await simulate(module, { seed: '1', samples: SAMPLES, witnesses });
      assert.equal(exit, 0, output);
      assert.match(output, /No violation found/);
      for (const witness of witnesses) assert.ok(reached(output, witness) > 0, output);
    }).timeout(120_000 + SAMPLES * 1000);
  }

  // The seeds are of traces in which the fault shows.
  for (const [module, invariant, seed] of [
    ['without_fence', 'receiptsKept', '0x296'],
    ['without_read_back', 'receiptsKept', '0x1'],
    ['without_register', 'rememberedFirst', '0x1'],
    ['without_consistency', 'witnessedHistory', '0x3a78'],
    ['without_cosignatures', 'publishedHistory', '0x19e4d'],
    ['without_closing', 'oneSuccessor', '0x291a7'],
    ['without_catching_up', 'receiptsKept', '0x933'],
  ] as const) {
    it(`${module}: ${invariant} fails`, async () => {
      const { exit, output } = await simulate(module, { seed, samples: 1 });
      assert.equal(exit, 1, output);
      assert.match(output, new RegExp(`❌ ${invariant}$`, 'm'));
    });
  }
});
