// The faults that strike a cluster under load, and the moments of a commit at which they strike. After each one everything
// is made whole again, and the cluster must recover by itself. Faults are chosen with a seed.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from './cluster-run.ts';
import type { ClusterNode } from './nodes.ts';
import type { Moment } from './proxy.ts';

/** How long a fault at a step waits for the cluster to come to that step. */
const STEP_MS = 4000;

/** The statements of the steps, as the proxy to the database sees them. */
const STEPS = {
  'a round is committed': 'INSERT INTO actlog_round',
  'a checkpoint is registered': 'UPDATE actlog_register',
  'a snapshot is written': 'INSERT INTO actlog_snapshot',
  'a node takes the lease': 'INSERT INTO actlog_lease',
} as const;

/** Acts when one of these nodes comes to a step, with the connection at which it does. */
async function atStep(
  nodes: readonly ClusterNode[],
  step: keyof typeof STEPS,
  moment: Moment,
  act: (node: ClusterNode) => Promise<void>,
): Promise<void> {
  let acting = Promise.resolve();
  const first = new AbortController();
  const signal = AbortSignal.any([first.signal, AbortSignal.timeout(STEP_MS)]);
  const aims = nodes.map((node) => {
    const hit = (): void => {
      acting = act(node);
      first.abort();
    };
    return node.toDatabase.aim(STEPS[step], moment, hit, signal);
  });
  await Promise.all(aims);
  await acting;
}

const kill = (node: ClusterNode): Promise<void> => node.kill();
const cut = async (node: ClusterNode): Promise<void> => node.toDatabase.cut();

/** The faults at the steps of a leader: it is killed, or loses its connections, around a statement. */
function stepFaults(): Record<string, Fault> {
  const faults: Record<string, Fault> = {};
  for (const step of ['a round is committed', 'a checkpoint is registered'] as const) {
    for (const moment of ['before', 'after'] as const) {
      faults[`kill the leader ${moment} ${step}`] = async (cluster) =>
        atStep([await cluster.leader()], step, moment, kill);
      faults[`cut the leader off ${moment} ${step}`] = async (cluster) =>
        atStep([await cluster.leader()], step, moment, cut);
    }
  }
  return faults;
}

/** A fault: it begins, and `mend` ends it. */
export type Fault = (cluster: Cluster) => Promise<void>;

/** The faults by name. Each ends with everything still broken that it broke, except for what it restarts itself. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  ...stepFaults(),
  async 'kill the leader in a snapshot'(cluster) {
    await atStep([await cluster.leader()], 'a snapshot is written', 'after', kill);
  },
  async 'kill the leader, and the node that takes the lease'(cluster) {
    const leader = await cluster.leader();
    const others = cluster.nodes.filter((node) => node !== leader);
    await leader.kill();
    await atStep(others, 'a node takes the lease', 'after', kill);
  },
  async 'fill the disk of the leader'(cluster) {
    await (await cluster.leader()).fillDisk(true);
    await sleep(cluster.between(500, 5000));
  },
  async 'fill the disk of a follower'(cluster) {
    await (await cluster.follower()).fillDisk(true);
    await sleep(cluster.between(500, 3000));
  },
  async 'promote the synchronous standby'(cluster) {
    await cluster.promote();
  },
  async 'kill the leader'(cluster) {
    await (await cluster.leader()).kill();
    await sleep(cluster.between(0, 4000));
  },
  async 'kill a follower'(cluster) {
    await (await cluster.follower()).kill();
    await sleep(cluster.between(0, 1000));
  },
  async 'kill two nodes'(cluster) {
    await Promise.all([(await cluster.leader()).kill(), (await cluster.follower()).kill()]);
    await sleep(cluster.between(0, 4000));
  },
  async 'pause the leader'(cluster) {
    (await cluster.leader()).pause();
    await sleep(cluster.between(500, 6000));
  },
  async 'pause a follower'(cluster) {
    (await cluster.follower()).pause();
    await sleep(cluster.between(500, 3000));
  },
  async 'part the leader from the database'(cluster) {
    (await cluster.leader()).toDatabase.set('drop');
    await sleep(cluster.between(500, 6000));
  },
  async 'refuse the leader the database'(cluster) {
    (await cluster.leader()).toDatabase.set('refuse');
    await sleep(cluster.between(500, 5000));
  },
  async 'part a follower from the database'(cluster) {
    (await cluster.follower()).toDatabase.set('drop');
    await sleep(cluster.between(500, 4000));
  },
  async 'part the followers from the leader'(cluster) {
    (await cluster.leader()).toNode.set('drop');
    await sleep(cluster.between(500, 4000));
  },
  async 'cut the connections of the leader'(cluster) {
    const leader = await cluster.leader();
    for (let cut = 0; cut < 5; cut += 1) {
      leader.toDatabase.cut();
      leader.toNode.cut();
      await sleep(cluster.between(10, 200));
    }
  },
  async 'delay the leader'(cluster) {
    (await cluster.leader()).toDatabase.delay(cluster.between(20, 120));
    await sleep(cluster.between(500, 2000));
  },
  async 'kill the database'(cluster) {
    await cluster.postgres.kill();
    await sleep(cluster.between(0, 4000));
    await cluster.postgres.start();
  },
  async 'step down'(cluster) {
    const { code, stderr } = await (await cluster.leader()).cluster('step-down');
    assert.equal(code, 0, stderr);
  },
  async 'delete the folder of a follower'(cluster) {
    const node = await cluster.follower();
    await node.kill();
    await node.wipe();
  },
  async 'delete the folder of the leader'(cluster) {
    const node = await cluster.leader();
    await node.kill();
    await node.wipe();
  },
  async 'stop the leader in good order'(cluster) {
    await (await cluster.leader()).stop();
  },
};

/** One fault under load, and everything that must hold afterwards. Returns the milliseconds of the recovery. */
export async function strike(cluster: Cluster, name: string): Promise<number> {
  const fault = FAULTS[name];
  assert.ok(fault !== undefined, `there is no fault ${name}`);
  cluster.startLoad();
  await sleep(cluster.between(100, 800));
  await fault(cluster);
  const began = Date.now();
  await cluster.mend();
  await cluster.write();
  const recovered = Date.now() - began;
  await cluster.stopLoad();
  await cluster.settle();
  await cluster.audit();
  return recovered;
}
