// A succession in a cluster, on the node that leads. The register first names the log that begins, so that every node which
// leads later has a copy of it; then the leader closes the old log and writes the first entry of the new one; then the
// register lists the new log, and the nodes serve it. After a crash between two of these steps, the same command goes on.

import type {
  ClusterDatabase,
  EntryType,
  JsonObject,
  Kind,
  Succession,
  Threads,
} from '../../log/index.ts';
import { CLUSTER, registerName } from '../../log/index.ts';
import type { Config } from '../config.ts';
import { succeed } from '../succession.ts';
import { AdminError } from '../tenants/tenants.ts';
import type { Copies } from './copies.ts';
import { streamsOf } from './joining.ts';
import type { ClusterIdentity } from './joining.ts';

/** The node that leads. Its gateway is closed, and its copies have every round. */
export interface SucceedingNode {
  readonly config: Config;
  readonly database: ClusterDatabase;
  readonly copies: Copies;
  readonly identity: ClusterIdentity;
  readonly types: readonly EntryType[];
  readonly threads: Threads;
  shareKeys(): Promise<void>;
}

/**
 * Opens the successor of a log; returns the cluster that has it.
 *
 * @throws AdminError if the cluster has no such log, or another succession has not ended; LogError like `openSuccessor`
 */
export async function succeedInCluster(
  node: SucceedingNode,
  kind: Kind,
  number: number,
): Promise<{ readonly identity: ClusterIdentity; readonly succession: Succession }> {
  const { config, database, copies, types, threads } = node;
  const { id, logs } = node.identity;
  if (!logs[kind].includes(number)) {
    throw new AdminError(`the cluster has no log ${kind}/${String(number)}`);
  }
  const next = number + 1;
  const announced = logs[kind].includes(next)
    ? node.identity
    : await announce(database, node.identity, { kind, number: next });
  await copies.add(streamsOf(announced, config.DATA_DIR));
  copies.lead(database.lease.epoch ?? '0');
  const { register } = database;
  const succession = await succeed(config, {
    ...{ kind, number, register, types, threads },
    replicas: (n) => copies.of(registerName(kind, n)),
    onKeyFile: () => node.shareKeys(),
  });
  if (announced.opening === undefined) return { identity: announced, succession };
  const identity = { id, logs: { ...logs, [kind]: [...logs[kind], next] } };
  await advance(database, announced, identity);
  return { identity, succession };
}

async function announce(
  database: ClusterDatabase,
  known: ClusterIdentity,
  opening: NonNullable<ClusterIdentity['opening']>,
): Promise<ClusterIdentity> {
  const { opening: begun } = known;
  if (begun !== undefined) {
    if (begun.kind === opening.kind && begun.number === opening.number) return known;
    const which = `${begun.kind}/${String(begun.number - 1)}`;
    throw new AdminError(`the succession of ${which} has not ended: run that command again first`);
  }
  const announced = { ...known, opening };
  await advance(database, known, announced);
  return announced;
}

const advance = (
  { register }: ClusterDatabase,
  from: ClusterIdentity,
  to: ClusterIdentity,
): Promise<void> =>
  register.advance(CLUSTER, from as unknown as JsonObject, to as unknown as JsonObject);
