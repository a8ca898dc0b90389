// One aimed kill of each sort in every test run; `npm run test:crash -- --aimed` does 30 of each.

import { AIMS, aimedRun } from './aimed.ts';

describe('a server killed where it is most vulnerable', function () {
  this.timeout(240_000);

  for (const aim of AIMS) {
    it(`${aim}: starts again, and has lost nothing`, async () => {
      await aimedRun(aim, 1);
    });
  }
});
