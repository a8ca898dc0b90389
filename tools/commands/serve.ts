// `actlog serve`: the gateway on a data folder.

import type { Command } from 'commander';
import { acting, EXIT, withData, type DataOptions } from '../command-line.ts';

/** Declares the command. */
export function addServe(program: Command): void {
  withData(program.command('serve'))
    .summary('serve the logs of a data folder')
    .description(
      'Serves the logs of a data folder until it gets SIGINT or SIGTERM. On an empty folder it makes both ' +
        'logs and prints one sandbox key and one live key, once. Settings come from the environment and the file.',
    )
    .action(
      acting(EXIT.failed, async ({ config, data }: DataOptions) => {
        if (data !== undefined) process.env['DATA_DIR'] = data;
        const { serve } = await import('../../gateway/main.ts');
        await serve(config);
        return EXIT.ok;
      }),
    );
}
