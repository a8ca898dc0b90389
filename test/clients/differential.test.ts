// The TypeScript verifier and the one in Go say the same of the same documents, changed ones too; the whole comparison is
// `npm run test:differential`.

import assert from 'node:assert/strict';
import { buildGo, Client, goMissing } from './client.ts';
import { compare, describeDifference } from './differential.ts';

const missing = goMissing();
const skipped = missing === null ? '' : ` (skipped: ${missing})`;

describe(`the verifiers in TypeScript and Go${skipped}`, function () {
  this.timeout(600_000);

  let client: Client | undefined;

  before(function () {
    if (missing !== null) this.skip();
    client = new Client(buildGo(), ['--batch']);
  });
  after(() => {
    client?.end();
  });

  it('come to the same verdict for the same reason', async () => {
    const { differences, falseAbsent, exits } = await compare(client!, { count: 3000, seed: 27 });
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
