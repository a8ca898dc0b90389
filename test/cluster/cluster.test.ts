// A short run of faults over three nodes, and the single cases that a run does not aim at. The long run is
// `npm run test:cluster`.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { postgresSuite } from '../support/postgres.ts';
import { Cluster, seeded } from './cluster-run.ts';
import { strike } from './faults.ts';

postgresSuite('a cluster of three nodes', function (postgres) {
  let cluster: Cluster;

  before(async function () {
    this.timeout(180_000);
    const server = postgres();
    const database = await server.database();
    cluster = await Cluster.start(seeded(1), { server, database, observed: true });
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

  it('goes on by itself when there is room again on a full disk', async function () {
    this.timeout(180_000);
    await strike(cluster, 'fill the disk of a follower');
  });

  it('loses nothing when the synchronous standby of the database is promoted under load', async function () {
    this.timeout(180_000);
    await strike(cluster, 'promote the synchronous standby');
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
    cluster.moveDatabase();
    const problems = (): Promise<string[]> =>
      Promise.all(
        cluster.nodes.map(async (node) => {
          const { json } = await node.cluster('status');
          return String((json as { problem?: unknown } | null)?.problem);
        }),
      );
    while (!(await problems()).some((problem) => problem.includes('lost commits'))) await sleep(50);
    for (const node of cluster.nodes) await node.until(({ leader }) => leader === null);
    // A node gives back what it has applied, and another one may have applied more.
    let rounds = 0;
    const led = async (): Promise<boolean> =>
      typeof (await cluster.nodes[0]?.ready())?.leader === 'string';
    while (!(await led())) {
      for (const node of cluster.nodes) {
        const answer = await node.cluster('heal');
        const { healed } = (answer.json ?? {}) as { healed?: Readonly<Record<string, number>> };
        rounds += healed?.['live-1'] ?? 0;
      }
      await sleep(100);
    }
    assert.ok(rounds > 0);
    await cluster.write();
    await cluster.settle();
    await cluster.audit(true);
  });
});
