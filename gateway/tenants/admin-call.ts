// One administrative act from the command line: through the running server, or on the data folder itself
// when none runs.

import { join, resolve } from 'node:path';
import { pino } from 'pino';
import type { Json } from '../../plugins/contract.ts';
import { commandVerbs } from '../commands.ts';
import { readConfig } from '../config.ts';
import { openGateway } from '../open.ts';
import { adminVerbs, keyVerbs } from './admin.ts';
import type { AdminArgs, AdminVerbs } from './admin.ts';
import { askServer } from './admin-socket.ts';
import { openGatewayStore } from './store.ts';
import { AdminError, Tenants } from './tenants.ts';

/**
 * Performs a verb of admin.ts. Without a server, verbs about keys and tenants open the gateway's database only;
 * the others open the logs, with the settings of the environment. Throws `AdminError` or `LogError`.
 */
export async function adminCall(
  data: string,
  verb: string,
  args: AdminArgs = {},
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Json> {
  const answered = await askServer(data, verb, args);
  if (answered !== null) return answered.result;
  const store = await openGatewayStore(join(resolve(data), 'gateway'));
  try {
    const verbs = keyVerbs(await Tenants.load(store, Date.now));
    if (Object.hasOwn(verbs, verb)) return await run(verbs, verb, args);
  } finally {
    await store.close();
  }
  const sources = readConfig({ ...env, DATA_DIR: data });
  const opened = await openGateway(sources, { logger: pino({ level: 'silent' }) });
  try {
    const own = adminVerbs(opened.gateway, opened.store);
    const verbs = { ...own, ...commandVerbs(opened.gateway, own) };
    return await run(verbs, verb, args);
  } finally {
    await opened.close();
  }
}

async function run(verbs: AdminVerbs, verb: string, args: AdminArgs): Promise<Json> {
  const perform = verbs[verb];
  if (perform === undefined) throw new AdminError(`there is no verb ${verb}`);
  return (await perform(args)) as Json;
}
