// One of the suites in cluster mode; `npm run test:cluster -- --suites` runs all of them.

import assert from 'node:assert/strict';
import { runSuites } from './suites.ts';

describe('the suites of the interface', () => {
  it('pass through a node that follows', async function () {
    let said = '';
    const code = await runSuites(['test/gateway/http/body.test.ts'], (text) => (said += text));
    if (code === null) this.skip();
    assert.equal(code, 0, said);
    assert.match(said, /\b[1-9]\d* passed, 0 failed/);
  });
});
