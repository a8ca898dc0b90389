// The administrative verbs: API keys, tenants, keys of the logs, webhooks, backup, clock. gateway/API.md §2.2, §3.1.
// A running server performs them through its socket (admin-socket.ts); otherwise the command line does (admin-call.ts).

import { join } from 'node:path';
import { LOG_KINDS, makeFolder } from '../../log/index.ts';
import type { Kind, Log } from '../../log/index.ts';
import { ROLES } from '../../plugins/contract/index.ts';
import type { Json } from '../../plugins/contract/index.ts';
import type { PluginKey, PluginKeys } from '../host/plugin-keys.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import type { GatewayStore } from './store.ts';
import { AdminError } from './tenants.ts';
import type { Tenants } from './tenants.ts';

/** The arguments of a verb by name. */
export type AdminArgs = Readonly<Record<string, Json | undefined>>;

/** Verbs by name, such as `keys issue`. The result is serialised as JSON. */
export type AdminVerbs = Readonly<Record<string, (args: AdminArgs) => Promise<unknown>>>;

/** The verb that issues first keys for a data folder that has lost its tenants. It needs a stopped server. */
export const NEW_KEYS = 'keys first';

const WEEK_MS = 7 * 86_400_000;

/** The verbs that need only the gateway's database, not the logs. */
export function keyVerbs(tenants: Tenants): AdminVerbs {
  return {
    'keys issue': (args) =>
      tenants.issue({
        tenant: text(args, 'tenant'),
        kind: kindOf(args),
        role: oneOf(args, 'role', ROLES) ?? 'carrier',
        scopes: ((args['scopes'] ?? []) as readonly Json[]).map(String),
        expires_at_ms: endIn(args),
      }),
    [NEW_KEYS]: async () => {
      if (!tenants.empty) {
        const advice = '"actlog keys issue" makes another one';
        throw new AdminError(`there are API keys, or there were (revoked ones count): ${advice}`);
      }
      return tenants.issueFirst();
    },
    'keys list': async () => tenants.list().map(({ sha256: _, form: __, ...key }) => key),
    'keys rotate': (args) =>
      tenants.rotate(
        text(args, 'key_id'),
        args['grace_ms'] === undefined ? WEEK_MS : millis(args, 'grace_ms'),
        endIn(args),
      ),
    'keys revoke': async (args) => {
      const { sha256: _, form: __, ...key } = await tenants.revoke(text(args, 'key_id'));
      return key;
    },
    'tenants list': async () => tenants.tenants(),
  };
}

/** All verbs of an open gateway. */
export function adminVerbs(
  gateway: {
    readonly tenants: Tenants;
    readonly logs: Readonly<Record<Kind, Log>>;
    readonly served: Readonly<Record<Kind, readonly Log[]>>;
    readonly webhooks: Webhooks;
    readonly keys: PluginKeys;
  },
  store: GatewayStore,
): AdminVerbs {
  const log = (args: AdminArgs): Log => gateway.logs[kindOf(args)];
  return {
    ...keyVerbs(gateway.tenants),
    status: async () =>
      Object.values(gateway.logs).map((one) => ({ origin: one.origin, ...one.health() })),
    'receipt-key rotate': async (args) => ({ kid: await log(args).operator.rotateKey() }),
    'receipt-key revoke': async (args) => {
      await log(args).operator.revokeKey(text(args, 'kid'));
      return { revoked: text(args, 'kid') };
    },
    'purpose-key rotate': async (args) => {
      const { plugin, name } = purposeOf(gateway.keys, args);
      return { kid: await gateway.keys.rotate(plugin, name, kindOf(args)) };
    },
    'purpose-key revoke': async (args) => {
      const { plugin, name } = purposeOf(gateway.keys, args);
      const kid = text(args, 'kid');
      const signs = await gateway.keys.revoke(plugin, name, kindOf(args), kid);
      if (signs === undefined) throw new AdminError(`there is no ${name} key ${kid}`);
      return { revoked: kid, kid: signs };
    },
    'webhooks list': async (args) =>
      gateway.webhooks.dead.list(args['limit'] === undefined ? 1000 : millis(args, 'limit')),
    'webhooks replay': async (args) => {
      const { dead } = gateway.webhooks;
      if (args['all'] === true) return { replayed: await dead.replayAll() };
      return { replayed: await dead.replay(text(args, 'id')) };
    },
    'clock confirm': async () => {
      for (const one of Object.values(gateway.logs)) one.operator.confirmClock();
      return { confirmed: true };
    },
    backup: async (args) => {
      const folder = text(args, 'folder');
      const sizes: Record<string, number> = {};
      for (const one of [...gateway.served.live, ...gateway.served.sandbox]) {
        const target = join(folder, one.kind, String(one.number));
        await makeFolder(target, 0o700);
        sizes[one.origin] = (await one.operator.backup(target)).size;
      }
      await store.copyTo(join(folder, 'gateway'));
      return { folder, sizes };
    },
  };
}

/** The plugin and the name of the purpose keys that the argument `use` names. */
function purposeOf(keys: PluginKeys, args: AdminArgs): Pick<PluginKey, 'plugin' | 'name'> {
  const use = text(args, 'use');
  const one = keys.all().find(({ name }) => name === use);
  if (one === undefined) throw new AdminError(`there is no key for ${use}`);
  return one;
}

function text(args: AdminArgs, name: string): string {
  const value = args[name];
  if (typeof value !== 'string' || value === '') throw new AdminError(`${name} is missing`);
  return value;
}

function millis(args: AdminArgs, name: string): number {
  const value = args[name];
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw new AdminError(`${name} must be a number of milliseconds`);
  }
  return value;
}

/** When a new key expires; undefined if it does not. */
function endIn(args: AdminArgs): number | undefined {
  return args['expires_at_ms'] === undefined ? undefined : millis(args, 'expires_at_ms');
}

function oneOf<const T extends string>(
  args: AdminArgs,
  name: string,
  values: readonly T[],
): T | undefined {
  if (args[name] === undefined) return undefined;
  const value = values.find((known) => known === args[name]);
  if (value === undefined) throw new AdminError(`${name} must be one of ${values.join(', ')}`);
  return value;
}

function kindOf(args: AdminArgs): Kind {
  const kind = oneOf(args, 'kind', LOG_KINDS);
  if (kind === undefined) throw new AdminError('kind is missing: live or sandbox');
  return kind;
}
