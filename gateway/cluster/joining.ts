// How a data folder becomes that of a node. The first node of a cluster founds it: what its data folder has (logs, the
// gateway's database, keys) becomes the beginning of the shared sequence, as snapshots before the first round. A later
// node starts on an empty folder. A folder of a service of one process joins no cluster that exists already, because its
// logs are other ones.
//
// The register has the identity of the cluster as its last step of the founding. A crash before that leaves a database
// that the next start begins anew, and the data folder as it was.

import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import {
  CLUSTER,
  clusterMarker,
  encryptKeyFiles,
  isJsonObject,
  LOG_KINDS,
  LogError,
  logNumbers,
  openRegister,
  parseJson,
  registerName,
  Replica,
  SharedRows,
  writeDurableFile,
  writeSnapshot,
} from '../../log/index.ts';
import type { ClusterDatabase, Json, JsonObject, Kind, Secrets } from '../../log/index.ts';
import { registerPlace } from '../config.ts';
import type { Config } from '../config.ts';
import { passphraseOf } from '../passphrase.ts';
import { privatePlace } from '../tenants/disclosures.ts';
import { gatewayPlace } from '../tenants/store.ts';
import { SyncedLevel } from '../tenants/synced-level.ts';
import type { LevelRow } from '../tenants/level-rows.ts';
import { KeyFolder } from './key-folder.ts';
import { DISCLOSURE_KEYS } from './secret-rows.ts';

/** The stream of the gateway's database. */
export const GATEWAY_STREAM = 'gateway';
/** The folder of a node's copy of it, in the data folder. */
export const GATEWAY_COPY = 'gateway-copy';

/** The cluster that a node belongs to. */
export interface ClusterIdentity {
  readonly id: string;
  /** The logs of each kind by number, oldest first. */
  readonly logs: Readonly<Record<Kind, readonly number[]>>;
  /** The log that a succession begins, and that no node serves yet; absent outside of a succession. */
  readonly opening?: { readonly kind: Kind; readonly number: number };
}

/** What a node joins with. */
export interface Joining {
  readonly config: Config;
  readonly database: ClusterDatabase;
  readonly secrets: Secrets;
  readonly logger: Logger;
}

/** The logs of a cluster by kind, oldest first, with the one that a succession begins. */
export const allLogs = ({
  logs,
  opening,
}: ClusterIdentity): readonly { readonly kind: Kind; readonly number: number }[] =>
  LOG_KINDS.flatMap((kind) =>
    [...logs[kind], ...(opening?.kind === kind ? [opening.number] : [])].map((number) => ({
      kind,
      number,
    })),
  );

/** All streams of a cluster and the folder of a node's copy of each. */
export function streamsOf(cluster: ClusterIdentity, data: string): ReadonlyMap<string, string> {
  const ofLogs = allLogs(cluster).map(
    ({ kind, number }) => [registerName(kind, number), join(data, kind, String(number))] as const,
  );
  return new Map([[GATEWAY_STREAM, join(data, GATEWAY_COPY)], ...ofLogs]);
}

/** The logs of a cluster as JSON, to compare them. */
export const logsOf = ({ logs }: ClusterIdentity): string =>
  JSON.stringify(LOG_KINDS.map((kind) => [kind, logs[kind]]));

/** The identity of the cluster in the register; null before it is founded. */
export async function clusterIn(database: ClusterDatabase): Promise<ClusterIdentity | null> {
  const value = await database.register.read(CLUSTER);
  if (value === null) return null;
  const { id, logs, opening } = value;
  if (typeof id !== 'string' || logs === undefined || !isJsonObject(logs)) {
    throw new LogError('store_corrupt', `${database.register.where(CLUSTER)} is not a cluster`);
  }
  const known = { id, logs: logs as unknown as ClusterIdentity['logs'] };
  if (opening === undefined) return known;
  return { ...known, opening: opening as unknown as NonNullable<ClusterIdentity['opening']> };
}

/** How often a node that waits for the founding of its cluster looks. */
const RETRY_MS = 250;

/** Enters the cluster; founds it if there is none and this node is the first to get the lease. */
export async function joinCluster(joining: Joining): Promise<ClusterIdentity> {
  const { config, database } = joining;
  if ((await clusterIn(database)) === null) await adoptRegister(config);
  for (;;) {
    const known = await clusterIn(database);
    if (known !== null) {
      await enterCluster(database, config.DATA_DIR, known);
      return known;
    }
    // If the connection was lost, the next look at the cluster says whether the database answers.
    if (await database.lease.tryAcquire().catch(() => false)) {
      try {
        if ((await clusterIn(database)) === null) return await foundCluster(joining);
      } catch (error) {
        // Another node may have founded the cluster after the lease of this one had expired.
        if ((await clusterIn(database)) === null) throw error;
      } finally {
        await database.lease.release();
      }
    }
    await sleep(RETRY_MS);
  }
}

/**
 * Makes the data folder that of a node of a cluster that exists.
 *
 * @throws LogError `data_not_adopted` if the folder has other data
 */
async function enterCluster(
  database: ClusterDatabase,
  data: string,
  { id }: ClusterIdentity,
): Promise<void> {
  const marker = await readMarker(data);
  // This node was stopped while it founded a cluster, and another node has founded it since.
  const abandoned = marker?.['founding'] === true && marker['id'] !== id;
  if (marker === null || abandoned) {
    if (hasData(data)) {
      throw new LogError(
        'data_not_adopted',
        `${data} has the data of a service of one process, and the cluster of DATABASE_URL has logs of its own: start ` +
          'this node on an empty DATA_DIR, or found a cluster on an empty database with this folder',
      );
    }
    await writeMarker(data, { id });
    return;
  }
  if (marker['id'] !== id) {
    throw new LogError(
      'data_not_adopted',
      `${data} belongs to another cluster than that of DATABASE_URL`,
    );
  }
  if (marker['founding'] === true) await finishFounding(database, data, id);
}

/**
 * Founds the cluster with what the data folder has. The caller holds the lease, and the database has no cluster.
 *
 * @throws LogError like a start of a service of one process on this folder
 */
async function foundCluster(joining: Joining): Promise<ClusterIdentity> {
  const { config, database, logger } = joining;
  const data = config.DATA_DIR;
  const known = await readMarker(data);
  if (known !== null && known['founding'] !== true) {
    throw new LogError(
      'data_not_adopted',
      `${data} belongs to a cluster, and the database of DATABASE_URL has none: it was emptied, or is another one`,
    );
  }
  const id = typeof known?.['id'] === 'string' ? known['id'] : randomBytes(16).toString('hex');
  const there = Object.fromEntries(LOG_KINDS.map((kind) => [kind, logNumbers(data, kind)]));
  const logs = Object.fromEntries(
    LOG_KINDS.map((kind) => [kind, there[kind]?.length === 0 ? [1] : (there[kind] ?? [1])]),
  ) as Record<Kind, number[]>;
  const identity: ClusterIdentity = { id, logs };
  const others = (await database.register.names()).filter((name) =>
    /^(?:live|sandbox)-/.test(name),
  );
  if (others.length > 0 && !hasData(data)) {
    throw new LogError(
      'data_not_adopted',
      `the database of DATABASE_URL knows the logs ${others.join(', ')}, and ${data} is empty: found the cluster with ` +
        'the data folder of these logs, or on an empty database',
    );
  }
  await writeMarker(data, { id, founding: true });
  await database.clear();
  await rm(join(data, GATEWAY_COPY), { recursive: true, force: true });
  const adopts = hasData(data);
  if (adopts) {
    logger.info({ data }, 'founding a cluster with the data of this folder');
    await copySecrets(joining);
    await copyStreams(joining, identity);
  }
  await database.register.advance(CLUSTER, null, { id, logs });
  // Before the folder loses its copies: the database may have failed over to one that lacks the latest commits.
  while (adopts && !(await database.hasSecrets(database.lease.epoch ?? '0'))) {
    await copySecrets(joining);
  }
  await finishFounding(database, data, id);
  return identity;
}

/**
 * Moves the register of a data folder into the database, and checks that the folder is no copy, as a start of a service
 * of one process does. Uses a lease of its own, so the caller must not hold one.
 */
async function adoptRegister(config: Config): Promise<void> {
  const data = config.DATA_DIR;
  if (existsSync(clusterMarker(data)) || !hasData(data)) return;
  const { register } = await openRegister(registerPlace(config));
  await register.close();
}

/** Copies the key files and the keys of disclosures. */
async function copySecrets({ config, database, secrets }: Joining): Promise<void> {
  const data = config.DATA_DIR;
  const keys = join(data, 'keys');
  const passphrase = passphraseOf(config);
  if (passphrase !== undefined) await encryptKeyFiles(keys, passphrase);
  await new KeyFolder(keys, secrets).share();
  const disclosures = await levelRows(join(data, 'private'), privatePlace(database.register));
  for (let at = 0; at < disclosures.length; at += CHUNK) {
    const some = disclosures.slice(at, at + CHUNK);
    await secrets.put(new Map(some.map(({ key, value }) => [DISCLOSURE_KEYS + key, value])));
  }
}

/** Copies the logs and the database of the gateway. */
async function copyStreams(
  { config, database, logger }: Joining,
  identity: ClusterIdentity,
): Promise<void> {
  const data = config.DATA_DIR;
  const { register, lease } = database;
  for (const [stream, folder] of streamsOf(identity, data)) {
    const options = { database, stream, folder, cluster: identity.id, onFailure: () => undefined };
    const replica = await Replica.open(options);
    try {
      await replica.finish(replica.position);
      if (stream === GATEWAY_STREAM) {
        replica.lead(lease.epoch ?? '0');
        const rows = await levelRows(join(data, 'gateway'), gatewayPlace(register));
        if (rows.length > 0) await new SharedRows(replica).put(rows);
      } else await writeSnapshot(database, replica);
    } finally {
      await replica.close();
    }
    logger.info({ stream }, 'the cluster has the data of a stream');
  }
}

const CHUNK = 5000;

/** All rows of a database of the gateway, compared with the register. Empty if there is none. */
async function levelRows(
  folder: string,
  place: Parameters<typeof SyncedLevel.open>[1],
): Promise<readonly LevelRow[]> {
  if (!existsSync(folder)) return [];
  let rows: readonly LevelRow[] = [];
  const level = await SyncedLevel.open(folder, { ...place, load: (found) => (rows = found) });
  await level.close();
  return rows;
}

/** Deletes what the cluster has now: above all the keys of disclosures, which an erasure must destroy everywhere. */
async function finishFounding(database: ClusterDatabase, data: string, id: string): Promise<void> {
  // These values of the register would refuse a return to the folder.
  await database.postgres.query(
    "DELETE FROM actlog_register WHERE name IN ('gateway', 'private', 'folder')",
  );
  await rm(join(data, 'private'), { recursive: true, force: true });
  await rm(join(data, 'gateway'), { recursive: true, force: true });
  await writeMarker(data, { id });
}

const hasData = (data: string): boolean =>
  existsSync(join(data, 'gateway')) || LOG_KINDS.some((kind) => logNumbers(data, kind).length > 0);

async function readMarker(data: string): Promise<JsonObject | null> {
  const path = clusterMarker(data);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  let value: Json = null;
  try {
    value = parseJson(text);
  } catch {
    // Reported below, as is JSON of something else.
  }
  if (isJsonObject(value)) return value;
  throw new LogError('store_corrupt', `${path} is not the marker file of a node`);
}

const writeMarker = (data: string, value: JsonObject): Promise<void> =>
  writeDurableFile(clusterMarker(data), `${JSON.stringify(value)}\n`);
