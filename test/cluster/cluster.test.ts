// A short run of faults over three nodes, and the single cases that a run does not aim at. The long run is
// `npm run test:cluster`.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { postgresSuite } from '../support/postgres.ts';
import { Cluster, seeded, strike } from './cluster-run.ts';

postgresSuite('a cluster of three nodes', function (postgres) {
  let cluster: Cluster;

  before(async function () {
    this.timeout(180_000);
    const server = postgres();
    cluster = await Cluster.start(seeded(1), { server, database: await server.database() });
  });
  after(() => cluster.close());

  it('answers a write at every node, and a repeat of it alike', async () => {
    for (const node of cluster.nodes) await cluster.write([node]);
    await cluster.settle();
    await cluster.audit();
  });

  it('loses nothing when the leader is killed', async function () {
    this.timeout(180_000);
    await strike(cluster, 'kill the leader');
  });

  it('fills the copy of a node whose folder was deleted', async function () {
    this.timeout(180_000);
    await strike(cluster, 'delete the folder of a follower');
  });

  it('gives the leadership away from a paused leader, which acknowledges nothing when it continues', async function () {
    this.timeout(180_000);
    const paused = await cluster.leader();
    paused.pause();
    const others = cluster.nodes.filter((node) => node !== paused);
    await cluster.write(others);
    // The kernel takes the request for the paused process, which reads it when it continues.
    const late = cluster.write([paused]);
    await sleep(200);
    paused.resume();
    await paused.until(({ role }) => role === 'follower', 60_000);
    await late;
    await cluster.settle();
    await cluster.audit();
  });

  it('refuses to lead on a database that has lost commits, and heals it', async function () {
    this.timeout(240_000);
    const standby = await postgres().standby({ synchronous: false });
    await cluster.write();
    await standby.lag(true);
    for (let n = 0; n < 5; n += 1) await cluster.write();
    await cluster.settle();
    await standby.promote();
    for (const node of cluster.nodes) {
      node.toDatabase.lead(standby.port);
      node.toDatabase.cut();
    }
    const [node] = cluster.nodes;
    assert.ok(node !== undefined);
    const problemOf = async (): Promise<string> => {
      const status = await node.cluster('status');
      return String((status.json as { problem?: unknown }).problem);
    };
    let problem = '';
    while (!problem.includes('lost commits')) problem = await problemOf();
    assert.equal((await node.ready())?.leader, null);
    const healed = await node.cluster('heal');
    assert.equal(healed.code, 0, healed.stderr);
    const { 'live-1': rounds = 0 } = (healed.json as { healed: Record<string, number> }).healed;
    assert.ok(rounds > 0);
    await cluster.write();
    await cluster.settle();
    await cluster.audit(true);
  });
});
