// Commands of plugins as verbs of administration, and those that the gateway performs by itself, on time.

import type { Logger } from 'pino';
import type { Command } from '../plugins/contract.ts';
import { ApiError } from '../plugins/contract.ts';
import type { Gateway } from './gateway.ts';
import type { AdminArgs, AdminVerbs } from './tenants/admin.ts';
import { AdminError } from './tenants/tenants.ts';
import { compileSchema } from './validation.ts';

/** The commands of all plugins, by name; what they refuse is an `AdminError` in the same words. */
export function commandVerbs(gateway: Gateway): AdminVerbs {
  const verbs = gateway.commands().map((command) => {
    const validate = compileSchema(command.args, command.name);
    const verb = async (args: AdminArgs): Promise<unknown> => {
      try {
        validate(args);
        return await performed(gateway, command, args);
      } catch (error) {
        if (error instanceof ApiError) throw new AdminError(error.message, { cause: error });
        throw error;
      }
    };
    return [command.name, verb] as const;
  });
  return Object.fromEntries(verbs);
}

function performed(gateway: Gateway, command: Command, args: unknown): Promise<unknown> {
  const { tenants, logs } = gateway;
  return command.perform({
    args,
    append: (kind, drafts, options) => logs[kind].append(drafts, options),
    async tenantRef(tenant, kind) {
      if (!tenants.tenants().some(({ name }) => name === tenant)) {
        throw new ApiError('resource_missing', `there is no tenant ${tenant}`, { param: 'tenant' });
      }
      await tenants.register(tenant, logs[kind]);
      return tenants.inLog(tenant, kind).tenant_ref;
    },
  });
}

/** Performs the commands that have a time, now and then again; `close` ends that and waits for the last. */
export function startChores(gateway: Gateway, logger: Logger): { close(): Promise<void> } {
  const chores = gateway.commands().flatMap((command) => {
    const { every_ms, name } = command;
    if (every_ms === undefined) return [];
    let running: Promise<void> | null = null;
    const run = (): void => {
      running ??= performed(gateway, command, {})
        .then(
          () => undefined,
          // What was not done now is done the next time.
          (err: unknown) => logger.warn({ err, command: name }, 'a command was put off'),
        )
        .finally(() => (running = null));
    };
    run();
    const timer = setInterval(run, every_ms);
    return [
      async (): Promise<void> => {
        clearInterval(timer);
        await running;
      },
    ];
  });
  return {
    async close() {
      await Promise.all(chores.map((stop) => stop()));
    },
  };
}
