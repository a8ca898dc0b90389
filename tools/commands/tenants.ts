// `actlog tenants` and `actlog clock`: what the operator sees of tenants, and vouching for the clock.

import type { Command } from 'commander';
import { administer, printTable } from '../administer.ts';
import { acting, EXIT, withData, type DataOptions } from '../command-line.ts';

interface ListedTenant {
  readonly name: string;
  readonly created_at_ms: number;
  readonly refs: { readonly live: string; readonly sandbox: string };
}

/** Declares the commands. */
export function addTenants(program: Command): void {
  const tenants = program
    .command('tenants')
    .summary('list tenants and their references in the logs')
    .description('The tenants of a data folder.');
  withData(tenants.command('list'))
    .description('Lists the tenants with their tenant_ref in each log.')
    .option('--json', 'print JSON')
    .action(
      acting(EXIT.failed, async (options: DataOptions & { json?: boolean }) => {
        const list = await administer<readonly ListedTenant[]>(options, 'tenants list');
        if (options.json === true) console.log(JSON.stringify(list, null, 2));
        else {
          printTable(
            ['tenant', 'live tenant_ref', 'sandbox tenant_ref', 'created'],
            list.map(({ name, refs, created_at_ms }) => [
              name,
              refs.live,
              refs.sandbox,
              new Date(created_at_ms).toISOString(),
            ]),
          );
        }
        return EXIT.ok;
      }),
    );
  const clock = program
    .command('clock')
    .summary('confirm the clock after it jumped')
    .description('The clock that the logs take their times from.');
  withData(clock.command('confirm'))
    .description(
      'Confirms the wall clock of a running server after it jumped. The logs then take entries again.',
    )
    .action(
      acting(EXIT.failed, async (options: DataOptions) => {
        await administer(options, 'clock confirm');
        console.log('the clock is confirmed');
        return EXIT.ok;
      }),
    );
}
