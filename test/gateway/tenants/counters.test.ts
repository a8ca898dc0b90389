// Tests of gateway/tenants/counters.ts over a real database.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Counters } from '../../../gateway/tenants/counters.ts';
import { FileRegister } from '../../../log/index.ts';
import { openGatewayStore } from '../../../gateway/tenants/store.ts';

const never = (error: unknown): never => assert.fail(String(error));

describe('gateway/tenants/counters', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'actlog-counters-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('has written a count to disk when its add resolves, also with concurrent adds', async () => {
    const data = join(folder, 'one');
    const store = await openGatewayStore(data, new FileRegister(join(folder, 'register')));
    const counters = new Counters(store, never);
    await Promise.all(
      Array.from({ length: 500 }, (_, i) => counters.add(i % 2 === 0 ? 'even' : 'odd')),
    );
    assert.equal(store.counts.get('even'), 250);
    await counters.add('odd');
    await store.close();
    const again = await openGatewayStore(data, new FileRegister(join(folder, 'register')));
    const reopened = new Counters(again, never);
    assert.deepEqual([reopened.get('even'), reopened.get('odd')], [250, 251]);
    assert.equal(reopened.get('never'), 0);
    const copy = join(folder, 'copy');
    await again.copyTo(copy);
    await again.close();
    const copied = await openGatewayStore(copy, new FileRegister(join(folder, 'register')));
    assert.equal(copied.counts.get('odd'), 251, 'a backup contains the counts');
    await copied.close();
  });

  it('loses no count while the disk fails for a time, and blocks no caller', async () => {
    const store = await openGatewayStore(
      join(folder, 'two'),
      new FileRegister(join(folder, 'register-two')),
    );
    let refuse = true;
    const failures: unknown[] = [];
    const counters = new Counters(
      {
        counts: store.counts,
        follows: false,
        putCounts: (counts) =>
          refuse ? Promise.reject(new Error('no space')) : store.putCounts(counts),
      },
      (error) => failures.push(error),
    );
    await Promise.all([counters.add('a'), counters.add('a'), counters.add('b')]);
    assert.ok(failures.length > 0);
    assert.deepEqual([counters.get('a'), counters.get('b')], [2, 1]);
    assert.equal(store.counts.size, 0);
    refuse = false;
    await counters.close();
    assert.deepEqual([...store.counts].sort(), [
      ['a', 2],
      ['b', 1],
    ]);
    await store.close();
  });
});
