// The cluster in place of a gateway that a suite starts, when CLUSTER_SUITES has the address of a PostgreSQL server. A data
// folder that a test leaves and opens again finds its database and the folder of the follower again.

import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { freePort } from '../support/free-port.ts';

/** The cluster of a data folder, which is that of the node that leads. */
export interface SuiteCluster {
  readonly database: string;
  /** The data folder of the node that follows. */
  readonly copy: string;
  /** The settings of one more node, with a free port. */
  settings(): Promise<Readonly<Record<string, string>>>;
}

const server = process.env['CLUSTER_SUITES'] ?? '';

/** Whether suites run in cluster mode. */
export const IN_CLUSTER = server !== '';

/** Leaves a test, or what a hook prepares, out of cluster mode, to which it does not apply. */
export function skipInCluster(context: Mocha.Context, why: string): void {
  if (!IN_CLUSTER) return;
  console.log(`not in cluster mode: ${why}`);
  context.skip();
}

const databases = new Map<string, string>();

/** The cluster of a data folder; null outside cluster mode. */
export async function suiteCluster(data: string): Promise<SuiteCluster | null> {
  if (!IN_CLUSTER) return null;
  const database = databases.get(data) ?? (await newDatabase());
  databases.set(data, database);
  return { database, copy: `${data}-copy`, settings: () => nodeSettings(data, database) };
}

/** The settings of a node, with a free port unless one is given; a file beside the folder has the passphrase. */
export async function nodeSettings(
  data: string,
  database: string,
  given?: string,
): Promise<Readonly<Record<string, string>>> {
  const passphrase = `${data}-passphrase`;
  if (!existsSync(passphrase)) {
    await mkdir(dirname(passphrase), { recursive: true });
    await writeFile(passphrase, 'the same on all nodes\n');
  }
  const port = given ?? String(await freePort());
  return {
    CLUSTER: 'on',
    DATABASE_URL: database,
    ADVERTISE: `http://127.0.0.1:${port}`,
    PORT: port,
    BASE_URL: 'http://test.example',
    KEY_PASSPHRASE_FILE: passphrase,
  };
}

async function newDatabase(): Promise<string> {
  const { default: pg } = await import('pg');
  const client = new pg.Client(server);
  await client.connect();
  // Mocha loads the first file of a run in another way than the rest, so a run has two instances of this module.
  const name = `suite_${randomBytes(8).toString('hex')}`;
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}
