// The follower over a log of many bundles that a real sequencer wrote, with its signatures on threads.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { openVerifyPool } from '../../../log/crypto/verify-pool.ts';
import { FolderMirror } from '../../../tools/mirror/open.ts';
import { CursorFiles } from '../../../tools/monitor/cursor.ts';
import { Follower } from '../../../tools/monitor/follower.ts';
import { act, DEMO_TYPES } from '../../support/demo-types.ts';
import { openTestLog } from '../../support/open-test-log.ts';
import type { TestLog } from '../../support/open-test-log.ts';
import { writeMirror } from '../../support/write-mirror.ts';

describe('a follower of many bundles', () => {
  const pool = openVerifyPool({ threads: 2 });
  let test: TestLog;
  let follower: Follower;

  before(async () => {
    test = await openTestLog({ types: DEMO_TYPES });
    await append(1000);
    const files = new CursorFiles(join(test.data, 'state'), 'live-1');
    const { origin, vkey } = test.log;
    follower = await Follower.open({
      mirror: new FolderMirror(join(test.data, 'mirror')),
      files,
      pool,
      cursor: {
        schema: 'actlog-monitor-cursor-v1',
        ...{ origin, vkey, vkey_source: 'the test' },
        ...{ note: null, closed: false, last_ms: 0 },
      },
    });
  });

  after(async () => {
    await test.close();
    await pool.close();
  });

  async function append(count: number): Promise<void> {
    test.time.advance(1000);
    const { log } = test;
    await log.append(
      Array.from({ length: count }, (_, n) => act(n, `case-${String((n * 7) % 400)}`)),
    );
    await test.publish();
    await writeMirror(log, join(test.data, 'mirror'));
  }

  it('checks all of them, also when it continues in the middle of a bundle', async () => {
    const sizes: number[] = [];
    for (const count of [0, 300, 1, 260]) {
      if (count > 0) await append(count);
      const { size, entries } = await follower.look();
      sizes.push(entries);
      assert.equal(size, test.log.published().size);
    }
    assert.deepEqual(sizes, [1004, 301, 2, 261]);
    assert.deepEqual(follower.end()?.root, Buffer.from(test.log.published().root).toString('hex'));
  });
});
