// `actlog keys`: API keys and the receipt keys of the logs. gateway/API.md §2.2, §3.1.

import { Option, type Command } from 'commander';
import { ROLES } from '../../plugins/contract/route.ts';
import { administer, printTable } from '../administer.ts';
import {
  acting,
  CommandError,
  EXIT,
  kindOption,
  withData,
  type DataOptions,
} from '../command-line.ts';
import { parseInstant, parseSpan } from '../duration.ts';

interface IssueOptions extends DataOptions {
  readonly tenant: string;
  readonly kind: string;
  readonly role: string;
  readonly scope?: readonly string[];
  readonly expires?: string;
  readonly json?: boolean;
}

interface ListedKey {
  readonly key_id: string;
  readonly tenant: string;
  readonly kind: string;
  readonly role: string;
  readonly scopes: readonly string[];
  readonly created_at_ms: number;
  readonly expires_at_ms?: number;
  readonly revoked_at_ms?: number;
  readonly rotated_from?: string;
  readonly key?: string;
}

/** Names a signing key beside the receipt keys. */
interface UseOptions {
  readonly use?: string;
  readonly log?: string;
}

interface RotateOptions extends UseOptions {
  readonly grace: string;
  readonly expires?: string;
  readonly json?: boolean;
}

/** Signing keys beside the receipt keys. */
const USES = ['webhook', 'air', 'cose'];

/** Declares `keys` with its verbs. */
export function addKeys(program: Command): void {
  const keys = program
    .command('keys')
    .summary('issue, list, rotate and revoke keys')
    .description(
      'API keys of tenants, and the receipt keys that the logs sign with. Works through the server that ' +
        'holds the data folder, or on the folder itself when none runs.',
    );
  addIssue(keys);
  addFirst(keys);
  addList(keys);
  addChanges(keys);
  addReceiptKeys(keys);
}

function addIssue(keys: Command): void {
  withData(keys.command('issue'))
    .description('Issues an API key. Its text is printed once and stored nowhere.')
    .requiredOption('--tenant <name>', 'tenant of the key; a new name creates a new tenant')
    .addOption(kindOption('which log the key writes to').default('sandbox'))
    .addOption(
      new Option('--role <role>', 'role of the key').choices([...ROLES]).default('carrier'),
    )
    .option('--scope <name...>', 'scopes for your own plugins; actlog itself does not check them')
    .option('--expires <time>', 'when it ends: 30d, 12h, or a date')
    .option('--json', 'print JSON')
    .action(
      acting(EXIT.failed, async (options: IssueOptions) => {
        const { tenant, kind, role, scope = [], expires } = options;
        const issued = await administer<ListedKey>(options, 'keys issue', {
          tenant,
          kind,
          role,
          scopes: [...scope],
          ...endOf(expires),
        });
        printIssued(issued, options.json === true);
        return EXIT.ok;
      }),
    );
}

function addFirst(keys: Command): void {
  withData(keys.command('first'))
    .description(
      'Makes the keys of a first start, in a data folder whose logs have entries of tenants and whose folder gateway/ ' +
        'is lost, with all API keys, tenants and subscriptions. Restore it from a backup instead if there is one: ' +
        'tenants that are created again are different tenants in the log. Stop the server first.',
    )
    .requiredOption('--new-keys', 'confirm that the lost keys and tenants are given up')
    .option('--json', 'print JSON')
    .action(
      acting(EXIT.failed, async (options: DataOptions & { json?: boolean }) => {
        const issued = await administer<readonly ListedKey[]>(options, 'keys first');
        if (options.json === true) console.log(JSON.stringify(issued, null, 2));
        else for (const key of issued) printIssued(key, false);
        return EXIT.ok;
      }),
    );
}

function addList(keys: Command): void {
  withData(keys.command('list'))
    .description('Lists all API keys, without their texts.')
    .option('--json', 'print JSON')
    .action(
      acting(EXIT.failed, async (options: DataOptions & { json?: boolean }) => {
        const list = await administer<readonly ListedKey[]>(options, 'keys list');
        if (options.json === true) console.log(JSON.stringify(list, null, 2));
        else {
          printTable(
            ['key', 'tenant', 'kind', 'role', 'scopes', 'created', 'state'],
            list.map((key) => [
              key.key_id,
              key.tenant,
              key.kind,
              key.role,
              key.scopes.join(' '),
              new Date(key.created_at_ms).toISOString(),
              stateOf(key),
            ]),
          );
        }
        return EXIT.ok;
      }),
    );
}

function addChanges(keys: Command): void {
  withData(keys.command('rotate [key_id]'))
    .description(
      'Issues the successor of an API key. Both keys work during the grace period. With --use, makes a new signing key of that ' +
        'use: the old key stays published, so that its signatures remain verifiable.',
    )
    .option('--grace <span>', 'how long the old API key continues to work', '7d')
    .option(
      '--expires <time>',
      'when the new API key expires: 30d, 12h, or a date (default: never)',
    )
    .addOption(new Option('--use <use>', 'what the signing key is for').choices(USES))
    .addOption(kindOption('whose signing key', '--log'))
    .option('--json', 'print JSON')
    .action(
      acting(
        EXIT.failed,
        async (key_id: string | undefined, options: DataOptions & RotateOptions) => {
          if ((key_id === undefined) === (options.use === undefined)) {
            throw new CommandError('name an API key, or give --use');
          }
          if (options.use !== undefined) return rotateUse(options, options.use);
          const grace_ms = parseSpan(options.grace);
          const issued = await administer<ListedKey>(options, 'keys rotate', {
            key_id,
            grace_ms,
            ...endOf(options.expires),
          });
          printIssued(issued, options.json === true);
          return EXIT.ok;
        },
      ),
    );
  withData(keys.command('revoke <id>'))
    .description(
      'Revokes an API key at once and for good. With --use, revokes the signing key with this kid: it is published no ' +
        'more, and all its signatures become invalid. If it is the current key, a new one replaces it.',
    )
    .addOption(new Option('--use <use>', 'what the signing key is for').choices(USES))
    .addOption(kindOption('whose signing key', '--log'))
    .action(
      acting(EXIT.failed, async (id: string, options: DataOptions & UseOptions) => {
        const { use, log } = options;
        if (use === undefined) await administer(options, 'keys revoke', { key_id: id });
        else {
          const args = { use, kind: kindOfUse(log), kid: id };
          const { kid } = await administer<{ kid: string }>(options, 'purpose-key revoke', args);
          console.log(`the ${use} key of the ${args.kind} log is ${kid}`);
        }
        console.log(`${id} is revoked`);
        return EXIT.ok;
      }),
    );
}

function addReceiptKeys(keys: Command): void {
  withData(keys.command('rotate-receipt'))
    .description('Makes a new receipt key; the log declares it, then retires the old one.')
    .addOption(kindOption('whose key', '--log').makeOptionMandatory())
    .action(
      acting(EXIT.failed, async (options: DataOptions & { log: string }) => {
        const { kid } = await administer<{ kid: string }>(options, 'receipt-key rotate', {
          kind: options.log,
        });
        console.log(`the ${options.log} log signs with ${kid} from now on`);
        return EXIT.ok;
      }),
    );
  withData(keys.command('revoke-receipt <kid>'))
    .description(
      'Declares a receipt key revoked. Its older entries are then valid only with their inclusion proofs. ' +
        'If it is the current key, a new one replaces it.',
    )
    .addOption(kindOption('whose key', '--log').makeOptionMandatory())
    .action(
      acting(EXIT.failed, async (kid: string, options: DataOptions & { log: string }) => {
        await administer(options, 'receipt-key revoke', { kind: options.log, kid });
        console.log(`${kid} of the ${options.log} log is revoked`);
        return EXIT.ok;
      }),
    );
}

async function rotateUse(
  options: DataOptions & Pick<RotateOptions, 'log' | 'json'>,
  use: string,
): Promise<number> {
  const args = { use, kind: kindOfUse(options.log) };
  const rotated = await administer<{ kid: string }>(options, 'purpose-key rotate', args);
  if (options.json === true) console.log(JSON.stringify(rotated, null, 2));
  else console.log(`the ${use} key of the ${args.kind} log is ${rotated.kid} from now on`);
  return EXIT.ok;
}

function kindOfUse(log: string | undefined): string {
  if (log === undefined) throw new CommandError('--use needs --log live or --log sandbox');
  return log;
}

/** A span counts from now; without a text there is no end. */
function endOf(text: string | undefined): { expires_at_ms?: number } {
  if (text === undefined) return {};
  const span = /^\d+(ms|s|m|h|d)$/.test(text);
  const expires_at_ms = span ? Date.now() + parseSpan(text) : parseInstant(text);
  if (expires_at_ms <= Date.now()) throw new CommandError(`--expires ${text} is over already`);
  return { expires_at_ms };
}

function printIssued(issued: ListedKey, json: boolean): void {
  if (json) {
    console.log(JSON.stringify(issued, null, 2));
    return;
  }
  console.log(issued.key);
  console.log(
    `${issued.key_id}: ${issued.role} of ${issued.tenant} in the ${issued.kind} log, ${stateOf(issued)}. ` +
      'This is the only time it is shown.',
  );
}

function stateOf({ revoked_at_ms, expires_at_ms }: ListedKey): string {
  if (revoked_at_ms !== undefined) return `revoked ${new Date(revoked_at_ms).toISOString()}`;
  if (expires_at_ms === undefined) return 'valid';
  const end = new Date(expires_at_ms).toISOString();
  return expires_at_ms <= Date.now() ? `expired ${end}` : `valid until ${end}`;
}
