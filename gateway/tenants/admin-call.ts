// Runs one administrative verb of the command line: through the running server, or on the data folder if no server
// runs.

import { join } from 'node:path';
import { pino } from 'pino';
import { openRegister } from '../../log/index.ts';
import type { Json } from '../../plugins/contract/index.ts';
import { registerPlace } from '../config.ts';
import type { ConfigSources } from '../config.ts';
import type { AdminArgs } from './admin.ts';
import { askServer, performVerb } from './admin-socket.ts';
import { acceptEmptyStore, openGatewayStore } from './store.ts';
import { AdminError, Tenants } from './tenants.ts';

/**
 * Performs a verb of admin.ts. If no server runs, verbs about keys and tenants open only the gateway's database, unless
 * it has no tenants. All other verbs open the logs with the given settings.
 *
 * @throws AdminError, LogError
 */
export async function adminCall(
  sources: ConfigSources,
  verb: string,
  args: AdminArgs = {},
): Promise<Json> {
  const answered = await askServer(sources.config.DATA_DIR, verb, args);
  if (answered !== null) return answered.result;
  if (sources.config.CLUSTER === 'on') {
    throw new AdminError('no node runs on this data folder: start it first, with "actlog serve"');
  }
  if (verb === 'clock confirm') {
    throw new AdminError(
      'no server runs on this data folder: only the clock of a running server is confirmed',
    );
  }
  // A verb that the server performs needs none of these, and loading them takes a second.
  const { commandVerbs } = await import('../host/commands.ts');
  const { openGateway } = await import('../open.ts');
  const { adminVerbs, keyVerbs, NEW_KEYS } = await import('./admin.ts');
  const folder = join(sources.config.DATA_DIR, 'gateway');
  // `witnessed` suppresses the notices that are given once per folder; the server must log them.
  const place = { ...registerPlace(sources.config), witnessed: true };
  const { register } = await openRegister(place);
  try {
    if (verb === NEW_KEYS) await acceptEmptyStore(folder, register);
    const store = await openGatewayStore(folder, register);
    try {
      // Without tenants, only the logs show whether the folder is new or lost its tenants.
      if (store.tenants.size > 0) {
        const verbs = keyVerbs(await Tenants.load(store, Date.now));
        if (Object.hasOwn(verbs, verb)) return (await performVerb(verbs, verb, args)) as Json;
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
    return (await performVerb(verbs, verb, args)) as Json;
  } finally {
    await opened.close();
  }
}
