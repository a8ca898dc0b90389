// A node of a cluster in this process.

import { run } from '../../tools/plugin-test/running.ts';
import type { Running } from '../../tools/plugin-test/running.ts';
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
