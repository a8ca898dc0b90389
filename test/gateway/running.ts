// A whole gateway for tests, as the published plugin suite starts one.
//
// With CLUSTER_SUITES, each one is a cluster of two nodes in this process, on a database of its own: the requests of the
// tests go to the node that follows, and `gateway` and `data` are those of the node that leads. A PORT that a test names
// is that of the node that follows. CLUSTER_SUITES is the address of a PostgreSQL server; `npm run test:cluster --
// --suites` starts one.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Clock, run as runAlone } from '../../tools/plugin-test/running.ts';
import { caughtUp, startHere } from '../cluster/here.ts';
import { IN_CLUSTER, suiteCluster } from '../cluster/suite-cluster.ts';
import { freePort } from '../support/free-port.ts';

export * from '../../tools/plugin-test/running.ts';

type Run = typeof runAlone;

/** The followers by address. */
const followers = new Map<string, () => Promise<void>>();

/** Tests also write through `gateway`, past the follower. A request that comes after such a write waits for it. */
function waitForFollowers(): void {
  const { fetch } = globalThis;
  globalThis.fetch = async (to, init) => {
    const address = to instanceof Request ? to.url : to.toString();
    if (URL.canParse(address)) await followers.get(new URL(address).origin)?.();
    return fetch(to, init);
  };
}
if (IN_CLUSTER) waitForFollowers();

async function runCluster(...[env = {}, options = {}]: Parameters<Run>): ReturnType<Run> {
  const data = env['DATA_DIR'] ?? (await mkdtemp(join(tmpdir(), 'actlog-')));
  const cluster = await suiteCluster(data);
  if (cluster === null) return runAlone(env, options);
  const { database, copy } = cluster;
  const both = { ...options, clock: options.clock ?? new Clock() };
  const PORT = String(await freePort());
  const leader = await startHere(data, database, { ...env, PORT }, both);
  const follower = await startHere(copy, database, env, both).catch(async (error: unknown) => {
    await leader.close(true);
    throw error;
  });
  followers.set(follower.url, () => caughtUp(follower, leader));
  const { url, port, ask, get, post } = follower;
  return {
    ...{ ...leader, url, port, ask, get, post },
    async close(keep = false) {
      followers.delete(url);
      await follower.close(keep);
      await leader.close(keep);
      if (keep) return;
      for (const folder of [data, copy]) await rm(`${folder}-passphrase`, { force: true });
    },
  };
}

/** Starts a gateway, or two nodes; see the published function for what it takes. */
export const run: Run = IN_CLUSTER ? runCluster : runAlone;
