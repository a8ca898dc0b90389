// One kill of each kind in aimed.ts; `npm run test:crash -- --aimed` does 30 of each.

import { AIMS, aimedRun } from './aimed.ts';

describe('a server killed at its most vulnerable moments', function () {
  this.timeout(240_000);

  for (const aim of AIMS) {
    it(`${aim}: starts again, and nothing acknowledged is lost`, async () => {
      await aimedRun(aim, 1);
    });
  }
});
