// `actlog fsck`: checks the databases of a stopped data folder against their own entries.

import type { Command } from 'commander';
import { LOG_KINDS } from '../../log/index.ts';
import { findRegister, isMarked, refusalOf, registerName } from '../../log/operate.ts';
import type { FsckResult } from '../../log/operate.ts';
import {
  acting,
  EXIT,
  logsOption,
  settingsOf,
  withData,
  type DataOptions,
} from '../command-line.ts';
import type { Config } from '../../gateway/config.ts';
import { broughtTypes } from '../brought-types.ts';
import type { DatabaseReport } from '../databases.ts';
import { dataLogs, registerPlace, threads, vkeyOf, type DataLog } from '../data-logs.ts';
import { progress } from '../progress.ts';

interface FsckCommand extends DataOptions {
  readonly log: string;
  readonly json?: boolean;
}

/** What is printed of a log. */
type FsckReport = FsckResult & Omit<DataLog, 'register'>;

/** Declares the command. */
export function addFsck(program: Command): void {
  withData(program.command('fsck'))
    .summary('check a stopped data folder against its entries')
    .description(
      'Derives everything again from the entries (rules, signatures, tree, heads, rows, map roots) and ' +
        'compares it with what is stored and with the checkpoint register. Compares the databases of tenants and of ' +
        'the keys of disclosures with what was acknowledged, and the sealed disclosures of the logs with these ' +
        'keys. Repairs nothing.',
    )
    .addOption(logsOption())
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExits 0 when all is as it should be, 1 with differences, 2 when that cannot be told. Differences in ' +
        '`plugin row` only are mended by reindex, all others by restore.',
    )
    .action(acting(EXIT.unknown, run));
}

async function run(options: FsckCommand): Promise<number> {
  const { fsck } = await import('../../log/operate.ts');
  const { config } = await settingsOf(options);
  const types = await broughtTypes(config);
  const refusal = isMarked(config.DATA_DIR) ? await refusalOf(registerPlace(config)) : null;
  const results: FsckReport[] = [];
  for (const log of await dataLogs(config, options.log)) {
    const bar = progress(`${log.kind}/${String(log.number)}`, options.json !== true);
    const { vkey, why } = await vkeyOf(config, log);
    const result = await fsck({
      folder: log.folder,
      outside: { register: log.register, name: registerName(log.kind, log.number) },
      types,
      threads: threads(),
      ...(vkey === undefined ? {} : { vkey }),
      onProgress: bar.at,
    });
    bar.end();
    const unchecked = [...result.unchecked, ...[why ?? [], refusal ?? []].flat()];
    const { kind, number, folder } = log;
    const report = { kind, number, folder, ...result, unchecked };
    results.push(report);
    if (options.json !== true) print(report);
  }
  const databases = await inspect(config, results);
  if (options.json === true) console.log(JSON.stringify([...results, ...databases], null, 2));
  else for (const database of databases) printDatabase(database);
  return [...results, ...databases].every(({ count }) => count === 0) ? EXIT.ok : EXIT.failed;
}

/** The gateway's databases, and the sealed disclosures of the logs that were checked. */
async function inspect(
  config: Config,
  logs: readonly FsckReport[],
): Promise<readonly DatabaseReport[]> {
  const { inspectDatabases } = await import('../databases.ts');
  const kinds = LOG_KINDS.map((kind) => ({
    kind,
    folders: logs.filter((log) => log.kind === kind).map(({ folder }) => folder),
  }));
  return inspectDatabases(config.DATA_DIR, await findRegister(registerPlace(config)), kinds);
}

function printDatabase({ database, rows, count, differences }: DatabaseReport): void {
  console.log(`${database}  ${String(rows)} rows  ${verdictOf(count)}`);
  printDifferences(count, differences);
}

const verdictOf = (count: number): string =>
  count === 0 ? 'clean' : `${String(count)} differences`;

function printDifferences(
  count: number,
  differences: readonly {
    readonly part: string;
    readonly where: string;
    readonly detail: string;
  }[],
): void {
  for (const { part, where, detail } of differences) console.log(`  ${part}: ${where}: ${detail}`);
  if (count > differences.length) {
    console.log(`  and ${String(count - differences.length)} more`);
  }
}

function print({ kind, number, origin, size, count, differences, unchecked }: FsckReport): void {
  console.log(
    `${kind}/${String(number)}  ${origin ?? 'empty'}  ${String(size)} entries  ${verdictOf(count)}`,
  );
  printDifferences(count, differences);
  for (const what of unchecked) console.log(`  not checked: ${what}`);
}
