// `actlog backup`: a consistent copy of the databases, while the server goes on.

import { resolve } from 'node:path';
import type { Command } from 'commander';
import { administer } from '../administer.ts';
import { acting, EXIT, withData, type DataOptions } from '../command-line.ts';

/** Declares the command. */
export function addBackup(program: Command): void {
  withData(program.command('backup <folder>'))
    .summary('copy the databases to a new folder, also while serving')
    .description(
      'Writes a consistent copy of every log and of the keys and tenants to a new folder, through the server ' +
        'when one runs. Not in it, on purpose: private keys, the checkpoint files, and the keys that open ' +
        'disclosures. Keep the first in a safe, leave the second where they are.',
    )
    .addHelpText(
      'after',
      `
To go back to a backup: stop the server, put its folders live/, sandbox/ and gateway/ in the place of those of
the data folder, and run "actlog restore" to catch up with what was published since. API keys, webhook
subscriptions and what waits to be sent are those of the backup then: revoke again what was revoked since.`,
    )
    .action(
      acting(EXIT.failed, async (folder: string, options: DataOptions) => {
        const target = resolve(folder);
        const { sizes } = await administer<{ sizes: Readonly<Record<string, number>> }>(
          options,
          'backup',
          { folder: target },
        );
        for (const [origin, size] of Object.entries(sizes)) {
          console.log(`${origin}: ${String(size)} entries`);
        }
        console.log(`in ${target}`);
        return EXIT.ok;
      }),
    );
}
