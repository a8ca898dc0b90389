// Work on the logs of a cluster whose nodes are stopped, for `actlog reindex`. A command takes the lease, as a node does
// that begins to lead, and writes through the copies of its data folder: each write is a round, which the nodes apply when
// they start again.

import { pino } from 'pino';
import { ClusterDatabase, isLogError, LogError, registerName } from '../../log/index.ts';
import type { Kind, Store } from '../../log/index.ts';
import type { Config } from '../config.ts';
import { checkComplete } from './comparison.ts';
import { Copies } from './copies.ts';
import { allLogs, clusterIn, streamsOf } from './joining.ts';
import type { ClusterIdentity } from './joining.ts';
import { reportedLoss } from './lost-rounds.ts';

/** A log of a cluster. A write to its store resolves when the database has committed it. */
export interface SharedLog {
  readonly kind: Kind;
  readonly number: number;
  readonly store: Store;
}

/**
 * Gives the logs of a cluster, as its database has them, to a function, and keeps the lease until that has finished.
 *
 * @param config that of a stopped node, whose data folder has its copies
 * @throws LogError `log_locked` while a node leads or serves from the data folder, `not_found` without a cluster,
 *   `log_unavailable` while the database lacks rounds or does not answer, `store_corrupt` if a copy is damaged or has forked
 */
export async function withStoppedCluster(
  config: Config,
  act: (logs: readonly SharedLog[]) => Promise<void>,
): Promise<void> {
  const { DATABASE_URL, ADVERTISE } = config;
  const database = await ClusterDatabase.open(DATABASE_URL, { address: ADVERTISE });
  try {
    const cluster = await clusterIn(database);
    if (cluster === null) {
      throw new LogError('not_found', 'the database of DATABASE_URL has no cluster');
    }
    if (!(await database.lease.tryAcquire())) throw await ledError(database);
    const copies = copiesOf(config, database, cluster);
    try {
      await copies.open();
      await bringUpToDate(database, copies);
      copies.lead(database.lease.epoch ?? '0');
      await act(
        allLogs(cluster).map(({ kind, number }) => {
          const { store } = copies.of(registerName(kind, number));
          return { kind, number, store };
        }),
      );
    } finally {
      await copies.close();
      await database.lease.release();
    }
  } finally {
    await database.close();
  }
}

async function ledError(database: ClusterDatabase): Promise<LogError> {
  const leader = (await database.leadership())?.address ?? 'another address';
  const seconds = String(database.lease.lease_ms / 1000);
  return new LogError(
    'log_locked',
    `the node at ${leader} leads the cluster: stop all nodes first. If that node was killed, its lease ends within ` +
      `${seconds} seconds`,
  );
}

const copiesOf = (
  { DATA_DIR, CLUSTER_SNAPSHOT_BYTES }: Config,
  database: ClusterDatabase,
  cluster: ClusterIdentity,
): Copies =>
  new Copies({
    data: DATA_DIR,
    database,
    cluster: cluster.id,
    folders: streamsOf(cluster, DATA_DIR),
    snapshot_bytes: CLUSTER_SNAPSHOT_BYTES,
    logger: pino({ level: 'silent' }),
    // The write that fails is rejected as well.
    onFailure: () => undefined,
    onApplied: () => undefined,
  });

async function bringUpToDate(database: ClusterDatabase, copies: Copies): Promise<void> {
  const pull = (): Promise<void> => copies.pull(false, () => false);
  try {
    await pull();
  } catch (error) {
    if (!isLogError(error) || error.code !== 'out_of_range') throw error;
    // The rounds that follow were trimmed: the copies are filled again.
    await copies.renew();
    await pull();
  }
  await checkComplete(database, copies);
  const lost = await reportedLoss(database);
  if (lost !== null) throw new LogError('log_unavailable', lost);
}
