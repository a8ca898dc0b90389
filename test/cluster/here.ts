// Nodes of a cluster in this process.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../tools/plugin-test/running.ts';
import type { Running } from '../../tools/plugin-test/running.ts';
import type { Postgres } from '../support/postgres.ts';
import { nodeSettings } from './suite-cluster.ts';

/**
 * Starts a node.
 *
 * @param data its data folder
 * @param database the address of the database of the cluster
 */
export async function startHere(
  data: string,
  database: string,
  env: Readonly<Record<string, string>> = {},
  options: Parameters<typeof run>[1] = {},
): Promise<Running> {
  const { KEY_PASSPHRASE_FILE, BASE_URL, ...settings } = await nodeSettings(
    data,
    database,
    env['PORT'],
  );
  const own = { KEY_PASSPHRASE_FILE, BASE_URL, ...env, ...settings, DATA_DIR: data };
  return run(own as Readonly<Record<string, string>>, options);
}

/** Waits until a node has applied every round that another one has applied. */
export async function caughtUp(node: Running, with_: Running): Promise<void> {
  await node.gateway.cluster?.reached(with_.gateway.cluster?.applied() ?? {});
}

/** The nodes of one cluster for a test suite: they share a new database, and each has its own data folder. */
export interface SuiteNodes {
  readonly running: ReadonlySet<Running>;
  /** The address of the database. */
  database(): string;
  /** The data folder of a node. */
  folder(name: string): string;
  start(name: string): Promise<Running>;
  stop(node: Running): Promise<void>;
}

/** Prepares the nodes of a suite before its tests, and stops those that run after them. */
export function suiteNodes(postgres: () => Postgres, suite: string): SuiteNodes {
  let parent: string;
  let database: string;
  const running = new Set<Running>();
  const folder = (name: string): string => join(parent, name);
  before(async () => {
    parent = await mkdtemp(join(tmpdir(), `actlog-cluster-${suite}-`));
    database = await postgres().database();
  });
  after(async () => {
    for (const node of running) await node.close(true);
    await rm(parent, { recursive: true, force: true });
  });
  return {
    running,
    database: () => database,
    folder,
    async start(name) {
      const node = await startHere(folder(name), database);
      running.add(node);
      return node;
    },
    async stop(node) {
      running.delete(node);
      await node.close(true);
    },
  };
}
