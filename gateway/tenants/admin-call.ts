// One administrative act from the command line: through the running server, or on the data folder itself
// when none runs.

import { join } from 'node:path';
import { pino } from 'pino';
import { openRegister } from '../../log/index.ts';
import type { Json } from '../../plugins/contract/index.ts';
import { commandVerbs } from '../host/commands.ts';
import { registerPlace } from '../config.ts';
import type { ConfigSources } from '../config.ts';
import { openGateway } from '../open.ts';
import { adminVerbs, keyVerbs, NEW_KEYS } from './admin.ts';
import type { AdminArgs, AdminVerbs } from './admin.ts';
import { askServer } from './admin-socket.ts';
import { acceptEmptyStore, openGatewayStore } from './store.ts';
import { AdminError, Tenants } from './tenants.ts';

/**
 * Performs a verb of admin.ts. Without a server, verbs about keys and tenants open the gateway's database only, where it has tenants;
 * the others open the logs, with the given settings. Throws `AdminError` or `LogError`.
 */
export async function adminCall(
  sources: ConfigSources,
  verb: string,
  args: AdminArgs = {},
): Promise<Json> {
  const answered = await askServer(sources.config.DATA_DIR, verb, args);
  if (answered !== null) return answered.result;
  const folder = join(sources.config.DATA_DIR, 'gateway');
  // What is said once is for the log of a server.
  const place = { ...registerPlace(sources.config), witnessed: true };
  const { register } = await openRegister(place);
  try {
    if (verb === NEW_KEYS) await acceptEmptyStore(folder, register);
    const store = await openGatewayStore(folder, register);
    try {
      // Without tenants, only the logs can tell a new folder from one that lost them.
      if (store.tenants.size > 0) {
        const verbs = keyVerbs(await Tenants.load(store, Date.now));
        if (Object.hasOwn(verbs, verb)) return await run(verbs, verb, args);
      }
    } finally {
      await store.close();
    }
  } finally {
    await register.close();
  }
  const logger = pino({ level: 'silent' });
  const opened = await openGateway(sources, { logger, new_keys: verb === NEW_KEYS });
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
