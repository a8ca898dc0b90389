// `actlog reindex`: rebuilds the rows of plugins from the entries of a stopped data folder.

import type { Command } from 'commander';
import { broughtTypes } from '../brought-types.ts';
import {
  acting,
  EXIT,
  logsOption,
  settingsOf,
  withData,
  type DataOptions,
} from '../command-line.ts';
import { dataLogs } from '../data-logs.ts';
import { progress } from '../progress.ts';

/** Declares the command. */
export function addReindex(program: Command): void {
  withData(program.command('reindex'))
    .summary('rebuild the rows of plugins from the entries')
    .description(
      'Deletes what plugins have derived from the entries (counts, usage, indexes) and derives it again. For a ' +
        'plugin whose rules have changed, or after fsck named plugin rows. Interrupted, it starts over; until ' +
        'it has come to its end the log does not open. Rows of plugins that are not loaded stay.',
    )
    .addOption(logsOption())
    .action(
      acting(EXIT.failed, async (options: DataOptions & { log: string }) => {
        const { reindex } = await import('../../log/operate.ts');
        const { config } = await settingsOf(options);
        const types = await broughtTypes(config);
        for (const { kind, number, folder } of await dataLogs(config, options.log)) {
          const name = `${kind}/${String(number)}`;
          const bar = progress(name);
          const { size, untouched } = await reindex({ folder, types, onProgress: bar.at });
          bar.end();
          console.log(`${name}: rebuilt from ${String(size)} entries`);
          for (const plugin of untouched) console.log(`  left as it is: ${plugin}, not loaded`);
        }
        return EXIT.ok;
      }),
    );
}
