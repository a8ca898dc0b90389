// The store of used permits in the memory of one process.

import assert from 'node:assert/strict';
import { memoryReplayStore } from '../../../plugins/require-receipt/middleware.ts';

describe('the replay store in memory', () => {
  it('forgets expired permits, and refuses new ones rather than forget others', () => {
    let now = 0;
    const store = memoryReplayStore({ max: 2, now: () => now });
    assert.equal(store.use('a', 1000), true);
    assert.equal(store.use('a', 1000), false);
    assert.equal(store.use('b', 1000), true);
    assert.throws(() => store.use('c', 1000), /permits/);
    now = 10_000_000;
    assert.equal(store.use('c', now + 1000), true);
    assert.equal(store.use('c', now + 1000), false);
  });
});
