// `actlog clear` and `actlog clearing`: ceilings, credits of windows, and closing slots by hand.
// gateway/API.md §10.2, §10.3.

import type { Command } from 'commander';
import { administer } from '../administer.ts';
import {
  acting,
  CommandError,
  EXIT,
  kindOption,
  withData,
  type DataOptions,
} from '../command-line.ts';

interface TenantOptions extends DataOptions {
  readonly tenant: string;
  readonly kind: string;
}

interface CeilingOptions extends TenantOptions {
  readonly acts?: string;
  readonly usd?: string;
}

interface GrantOptions extends TenantOptions {
  readonly sku: string;
  readonly order?: string;
}

/** Declares the commands. */
export function addClearing(program: Command): void {
  const clear = program
    .command('clear')
    .summary('limit what a tenant spends')
    .description('What tenants may spend.');
  ofTenant(clear.command('ceiling'))
    .description("Sets a tenant's monthly ceiling; without --acts and --usd it is lifted.")
    .option('--acts <number>', 'governed acts of a month')
    .option('--usd <amount>', 'tolls and basis points of a month, at most 6 decimals')
    .action(
      acting(EXIT.failed, async (options: CeilingOptions) => {
        const { tenant, kind, acts, usd } = options;
        const set = await administer(options, 'clear ceiling', {
          tenant,
          kind,
          ...(acts === undefined ? {} : { acts: count(acts) }),
          ...(usd === undefined ? {} : { micro_usd: microUsd(usd) }),
        });
        return print(set);
      }),
    );

  const clearing = program
    .command('clearing')
    .summary('close weekly slots and grant windows')
    .description('Weekly slots and windows.');
  withData(clearing.command('close'))
    .description(
      'Closes the slot of every finished week. A running server does this automatically.',
    )
    .action(
      acting(EXIT.failed, async (options: DataOptions) =>
        print(await administer(options, 'clearing close')),
      ),
    );
  ofTenant(clearing.command('grant'))
    .description('Credits a tenant with the governed acts of a clearing window that it bought.')
    .requiredOption('--sku <id>', 'clearing_annual or clearing_quarterly')
    .option('--order <name>', 'reference of the payment; each order grants only once')
    .action(
      acting(EXIT.failed, async (options: GrantOptions) => {
        const { tenant, kind, sku, order } = options;
        const args = { tenant, kind, sku, ...(order === undefined ? {} : { order }) };
        return print(await administer(options, 'clearing grant', args));
      }),
    );
}

function ofTenant(command: Command): Command {
  return withData(command)
    .requiredOption('--tenant <name>', 'tenant that bought it')
    .addOption(kindOption('which log').default('live'));
}

function count(text: string): number {
  const value = Number(text);
  if (/^[0-9]+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new CommandError(`--acts is a whole number, not ${text}`);
}

/** Decimal digits, never a float. */
function microUsd(text: string): number {
  const [, whole = '', fraction = ''] = /^([0-9]{1,9})(?:\.([0-9]{1,6}))?$/.exec(text) ?? [];
  if (whole !== '') return Number(whole + fraction.padEnd(6, '0'));
  throw new CommandError(`--usd is an amount such as 250 or 99.50, not ${text}`);
}

function print(answer: unknown): number {
  console.log(JSON.stringify(answer, null, 2));
  return EXIT.ok;
}
