// Compares the verifiers in TypeScript, Go and Python on the same documents, with and without mutations.
// `npm run test:differential` is the longer run. Python takes part if ACTLOG_PYTHON names a Python with the package.

import assert from 'node:assert/strict';
import { buildGo, Client, goMissing } from './client.ts';
import { compare, describeDifference } from './differential.ts';

const PYTHON = process.env['ACTLOG_PYTHON'] ?? '';

/** Each verifier, why it cannot run here, and how it starts. */
const others = [
  { language: 'Go', missing: goMissing(), start: () => new Client(buildGo(), ['--batch']) },
  {
    language: 'Python',
    missing: PYTHON === '' ? 'ACTLOG_PYTHON names no Python that has tools/clients/python' : null,
    start: () => new Client(PYTHON, ['-m', 'actlog.cli', '--batch']),
  },
];

for (const { language, missing, start } of others) {
  const skipped = missing === null ? '' : ` (skipped: ${missing})`;

  describe(`the verifiers in TypeScript and ${language}${skipped}`, function () {
    this.timeout(600_000);

    let client: Client | undefined;

    before(function () {
      if (missing !== null) this.skip();
      client = start();
    });
    after(() => {
      client?.end();
    });

    it('agree on the verdict and its reason', async () => {
      const { differences, falseAbsent, exits } = await compare([client!], {
        count: 3000,
        seed: 27,
      });
      assert.equal(differences.map(describeDifference).join('\n'), '');
      assert.equal(falseAbsent, 0);
      for (const exit of [0, 1, 2]) {
        assert.ok(
          (exits[exit] ?? 0) > 50,
          `only ${String(exits[exit])} documents with exit ${String(exit)}`,
        );
      }
    });
  });
}
