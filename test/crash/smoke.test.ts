// A few kills at random moments; `npm run test:crash` does 200. CRASH_KILLS sets another number.

import assert from 'node:assert/strict';
import { crashRun } from './crash-run.ts';

const KILLS = Number(process.env['CRASH_KILLS'] ?? 6);

describe(`a server killed ${String(KILLS)} times under load`, function () {
  this.timeout(120_000 + KILLS * 30_000);

  it('loses and changes no answer', async () => {
    const { receipts, checkpoints } = await crashRun(KILLS);
    assert.ok(receipts > KILLS, `${String(receipts)} receipts were given`);
    assert.ok(checkpoints > KILLS, `${String(checkpoints)} checkpoints were seen`);
  });
});
