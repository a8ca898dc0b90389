// A release derives other rows from the entries: they are rebuilt in the database of a cluster, and all nodes get them.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readConfig } from '../../gateway/config.ts';
import { withStoppedCluster } from '../../gateway/cluster/stopped.ts';
import { metaKey, PLUGIN_ROW, rowKey } from '../../log/store/layout.ts';
import { put } from '../../log/store/store.ts';
import type { Write } from '../../log/store/store.ts';
import { actlog, start as launch } from '../support/actlog.ts';
import type { Ran } from '../support/actlog.ts';
import type { Running } from '../../tools/plugin-test/running.ts';
import { postgresSuite } from '../support/postgres.ts';
import { caughtUp, suiteNodes } from './here.ts';
import { nodeSettings } from './suite-cluster.ts';

/** Starts a node, and stops it when it has said that the rows are of another form. */
async function saysForm(env: Readonly<Record<string, string>>): Promise<void> {
  const node = launch(['serve'], { env });
  const ended = once(node, 'exit');
  let said = '';
  for await (const text of node.stdout.setEncoding('utf8')) {
    said += String(text);
    if (!/in the form of another release: run \S+actlog reindex/.test(said)) continue;
    node.kill();
    break;
  }
  await ended;
  assert.match(said, /actlog reindex/);
}

postgresSuite('reindex in a cluster', (postgres) => {
  const { database, folder, start, stop } = suiteNodes(postgres, 'reindex');
  const settings = async (name: string): Promise<Readonly<Record<string, string>>> => {
    const data = folder(name);
    const own = await nodeSettings(data, database());
    return { ...own, LOG_ORIGIN: 'test.example', DATA_DIR: data };
  };
  const reindex = async (name: string, more: Readonly<Record<string, string>> = {}): Promise<Ran> =>
    actlog(['reindex'], { env: { ...(await settings(name)), ...more } });
  /** Writes rows of the live log, as the gateway of another release would. */
  const change = async (name: string, writes: readonly Write[]): Promise<void> => {
    const { config } = readConfig(await settings(name));
    await withStoppedCluster(config, async (logs) => {
      await logs.find(({ kind }) => kind === 'live')?.store.write(writes);
    });
  };

  it('rebuilds the rows at one node, and the others get them from the database', async function () {
    this.timeout(120_000);
    const leader = await start('a');
    const follower = await start('b');
    const { live: key } = leader;
    for (const message of ['one', 'two', 'three']) {
      assert.equal((await leader.post('/api/v1/classify', { message }, { key })).status, 200);
    }
    const usageAt = async (node: Running): Promise<unknown> => {
      const { status, json } = await node.get('/api/v1/clear/usage', { key });
      assert.equal(status, 200);
      return json;
    };
    const usage = await usageAt(leader);
    await caughtUp(follower, leader);
    await stop(follower);

    const early = await reindex('b');
    assert.equal(early.code, 1);
    assert.match(early.stderr, /the node at http:\S+ leads the cluster: stop all nodes first/);
    await stop(leader);
    const alone = await reindex('b', { CLUSTER: 'off' });
    assert.equal(alone.code, 1);
    assert.match(alone.stderr, /is that of a node: set CLUSTER/);

    await change('b', [
      put(metaKey('rows'), Buffer.from('{"classify.result.v1":99}')),
      put(rowKey(PLUGIN_ROW, 'classify/none'), Buffer.from('1')),
    ]);
    await saysForm(await settings('a'));

    let done = await reindex('b');
    // The node may have ended before it released its lease, which ends by itself within seconds.
    for (let again = 0; done.stderr.includes('its lease ends within') && again < 5; again += 1) {
      done = await reindex('b');
    }
    assert.equal(done.code, 0, done.stderr);
    assert.match(done.stdout, /^live\/1: rebuilt from \d+ entries\nsandbox\/1: rebuilt from/);
    for (const name of ['a', 'b']) {
      const node = await start(name);
      assert.deepEqual(await usageAt(node), usage);
      assert.equal(node.gateway.logs.live.row('classify/none'), undefined);
      await stop(node);
    }
    const checked = await actlog(['fsck'], { env: await settings('b') });
    assert.equal(checked.code, 0, checked.stdout);
  });
});
