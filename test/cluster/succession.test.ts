// A log of a cluster is closed, and its successor opened, while the nodes serve.

import assert from 'node:assert/strict';
import { ClusterDatabase } from '../../log/index.ts';
import type { JsonObject } from '../../log/index.ts';
import type { Running } from '../../tools/plugin-test/running.ts';
import { adminCall } from '../support/admin-call.ts';
import { postgresSuite } from '../support/postgres.ts';
import { caughtUp, suiteNodes } from './here.ts';

postgresSuite('a succession in a cluster', (postgres) => {
  const { running, database, folder, start, stop } = suiteNodes(postgres, 'succession');
  const classify = async (node: Running, message: string, key: string): Promise<JsonObject> => {
    const headers = { 'Idempotency-Key': `succession-${message.replaceAll(' ', '-')}` };
    const { status, text, json } = await node.post(
      '/api/v1/classify',
      { message },
      { key, headers },
    );
    assert.equal(status, 200, text);
    return json as JsonObject;
  };
  const succeed = (name: string, log: string, number: number): Promise<JsonObject> =>
    adminCall(folder(name), 'cluster succeed', { log, number }) as Promise<JsonObject>;
  const originOf = (number: number, kind = 'live'): string =>
    `test.example/log/${kind}/${String(number)}`;

  it('is served by the node that leads, by the one that follows, and by a new one', async function () {
    this.timeout(120_000);
    const leader = await start('a');
    const follower = await start('b');
    const { live: key } = leader;
    const before = await classify(leader, 'before', key);
    assert.equal(before['origin'], originOf(1));
    await assert.rejects(succeed('b', 'live', 1), /does not lead/);
    await assert.rejects(succeed('a', 'live', 2), /no log live\/2/);

    const done = await succeed('a', 'live', 1);
    assert.deepEqual([done['origin'], done['orderly']], [originOf(2), true]);
    assert.deepEqual(await succeed('a', 'live', 1), done, 'a repeated command changes nothing');
    assert.equal((await classify(leader, 'after', key))['origin'], originOf(2));
    await caughtUp(follower, leader);
    assert.equal((await classify(follower, 'through the follower', key))['origin'], originOf(2));
    for (const node of [leader, follower, await start('c')]) {
      await caughtUp(node, leader);
      const checkpoint = await node.get('/log/live/2/checkpoint');
      assert.match(checkpoint.text, /^test\.example\/log\/live\/2\n/, checkpoint.text);
      const closed = await node.get('/log/live/1/checkpoint');
      const { predecessor } = done as { predecessor: { size: number } };
      assert.equal(closed.text.split('\n')[1], String(predecessor.size));
      assert.deepEqual(await classify(node, 'before', key), before);
    }
  });

  it('goes on at another node when the one that began it has ended', async function () {
    this.timeout(120_000);
    const [leader] = running;
    assert.ok(leader !== undefined);
    const { live: key } = leader;
    for (const node of running) await stop(node);
    // What the leader has written when it ends before the first entry of the successor.
    const shared = await ClusterDatabase.open(database(), { address: 'http://test.example' });
    await shared.lease.acquire();
    const known = await shared.register.read('cluster');
    assert.ok(known !== null);
    await shared.register.advance('cluster', known, {
      ...known,
      opening: { kind: 'sandbox', number: 2 },
    });
    await shared.lease.release();
    await shared.close();

    const next = await start('b');
    await assert.rejects(succeed('b', 'live', 2), /succession of sandbox\/1 has not ended/);
    assert.equal((await next.get('/log/sandbox/2/checkpoint')).status, 404);
    const done = await succeed('b', 'sandbox', 1);
    assert.equal(done['origin'], originOf(2, 'sandbox'));
    const follower = await start('a');
    await caughtUp(follower, next);
    assert.equal((await follower.get('/log/sandbox/2/checkpoint')).status, 200);
    assert.equal((await classify(follower, 'last', key))['origin'], originOf(2));
  });
});
