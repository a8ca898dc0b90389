// Turns the commands of plugins into verbs of administration, and runs their jobs on a schedule.

import type { Logger } from 'pino';
import { ApiError, isApiError } from '../../plugins/contract/index.ts';
import type { Command, CommandState, Json } from '../../plugins/contract/index.ts';
import { every } from './every.ts';
import type { Gateway } from '../gateway.ts';
import { PluginError } from './plugin-error.ts';
import type { AdminArgs, AdminVerbs } from '../tenants/admin.ts';
import { AdminError } from '../tenants/tenants.ts';
import { compileSchema } from '../http/validation.ts';

/**
 * The commands of all plugins, by name; an expected error of a command becomes an `AdminError` with the same message.
 *
 * @param taken verbs of the gateway itself, which no plugin may replace
 */
export function commandVerbs(gateway: Gateway, taken: AdminVerbs = {}): AdminVerbs {
  const verbs = gateway.plugged().commands.map((command) => {
    if (Object.hasOwn(taken, command.name)) {
      const [plugin = ''] = command.name.split(' ');
      throw new PluginError(plugin, `has the command ${command.name}, which is the gateway's own`);
    }
    const validate = compileSchema(command.args, command.name);
    const verb = async (args: AdminArgs): Promise<unknown> => {
      try {
        validate(args);
        return await performed(gateway, command, args);
      } catch (error) {
        if (isApiError(error)) throw new AdminError(error.message, { cause: error });
        throw error;
      }
    };
    return [command.name, verb] as const;
  });
  return { ...Object.fromEntries(verbs), 'plugin commands': async (args) => listed(gateway, args) };
}

/** The commands of one plugin, with which the command line makes its options. */
function listed(gateway: Gateway, { plugin }: AdminArgs): Json {
  return gateway
    .plugged()
    .commands.filter(({ name }) => name.startsWith(`${plugin as string} `))
    .map(({ name, summary, args }) => ({ name, summary, args: args as unknown as Json }));
}

function performed(gateway: Gateway, command: Command, args: unknown): Promise<unknown> {
  const { tenants, logs } = gateway;
  const [plugin = ''] = command.name.split(' ');
  const state: CommandState = {
    args,
    append: (kind, drafts, options) => logs[kind].append(drafts, options),
    async tenantRef(tenant, kind) {
      if (!tenants.tenants().some(({ name }) => name === tenant)) {
        throw new ApiError('resource_missing', `there is no tenant ${tenant}`, { param: 'tenant' });
      }
      await tenants.register(tenant, logs[kind]);
      return tenants.inLog(tenant, kind).tenant_ref;
    },
  };
  const part = gateway.loop.part(plugin, `command ${command.name}`);
  return gateway.loop.running(part, () => command.perform(state));
}

/** Runs the jobs at once and then at their intervals. `close` stops that and waits for running jobs. */
export function startChores(gateway: Gateway, logger: Logger): { close(): Promise<void> } {
  const stopped = new AbortController();
  const jobs = gateway.plugged().jobs.map((command) => {
    const { every_ms, name } = command;
    return every(gateway, every_ms, stopped.signal, async () => {
      try {
        await performed(gateway, command, {});
        gateway.metrics.job(name, true);
      } catch (err) {
        gateway.metrics.job(name, false);
        // A failed job is repeated at its next time.
        logger.warn({ err, command: name }, 'a command was put off');
      }
    });
  });
  return {
    async close() {
      stopped.abort();
      await Promise.all(jobs);
    },
  };
}
