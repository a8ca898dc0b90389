// `actlog webhooks`: messages that were given up. gateway/API.md §11.

import type { Command } from 'commander';
import { administer, printTable } from '../administer.ts';
import { acting, CommandError, EXIT, withData, type DataOptions } from '../command-line.ts';

interface ListedLetter {
  readonly id: string;
  readonly kind: string;
  readonly type: string;
  readonly to: string;
  readonly attempts: number;
  readonly reason: string;
  readonly died_at_ms: number;
}

/** Declares `webhooks` with its verbs. */
export function addWebhooks(program: Command): void {
  const webhooks = program
    .command('webhooks')
    .summary('list and replay undelivered webhooks')
    .description(
      'Webhooks that were given up after their last attempt, or because their receiver is gone. They are kept for ' +
        '30 days. Works through the server that holds the data folder, or on the folder itself when none runs.',
    );
  withData(webhooks.command('list'))
    .description('Lists them, without their addresses.')
    .option('--limit <n>', 'maximum number of messages', '1000')
    .option('--json', 'print JSON')
    .action(
      acting(EXIT.failed, async (options: DataOptions & { limit: string; json?: boolean }) => {
        const letters = await administer<readonly ListedLetter[]>(options, 'webhooks list', {
          limit: limitOf(options.limit),
        });
        if (options.json === true) console.log(JSON.stringify(letters, null, 2));
        else {
          printTable(
            ['message', 'log', 'event', 'to', 'attempts', 'reason', 'given up'],
            letters.map(({ id, kind, type, to, attempts, reason, died_at_ms }) => [
              ...[id, kind, type, to, String(attempts), reason],
              new Date(died_at_ms).toISOString(),
            ]),
          );
        }
        return EXIT.ok;
      }),
    );
  withData(webhooks.command('replay [message]'))
    .description(
      'Sends a message again, with all attempts, to every subscription that did not get it; a subscription that ' +
        'was disabled is enabled again.',
    )
    .option('--all', 'every message')
    .action(
      acting(
        EXIT.failed,
        async (message: string | undefined, options: DataOptions & { all?: boolean }) => {
          if ((message === undefined) === (options.all !== true)) {
            throw new CommandError('name one message, or give --all');
          }
          const { replayed } = await administer<{ replayed: number }>(
            options,
            'webhooks replay',
            message === undefined ? { all: true } : { id: message },
          );
          console.log(`${String(replayed)} replayed`);
          return EXIT.ok;
        },
      ),
    );
}

function limitOf(text: string): number {
  if (!/^[1-9][0-9]{0,5}$/.test(text)) throw new CommandError('--limit is a number from 1');
  return Number(text);
}
