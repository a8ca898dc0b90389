// `actlog fsck`: checks the databases of a stopped data folder against their own entries.

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { isLogError, LOG_KINDS } from '../../log/index.ts';
import { findRegister, isMarked, refusalOf, registerName } from '../../log/operate.ts';
import type { FsckResult, Reindexed, ReindexOptions } from '../../log/operate.ts';
import {
  acting,
  CommandError,
  type DataOptions,
  EXIT,
  logsOption,
  settingsOf,
  threads,
  withData,
} from '../command-line.ts';
import type { Config } from '../../gateway/config.ts';
import { registerPlace } from '../../gateway/config.ts';
import { broughtTypes } from '../brought-types.ts';
import type { DatabaseReport } from '../databases.ts';
import { dataLogs, isNode, vkeyOf, type DataLog } from '../data-logs.ts';
import { progress } from '../progress.ts';

interface FsckCommand extends DataOptions {
  readonly log: string;
  readonly json?: boolean;
}

/** What is printed of a log. */
type FsckReport = FsckResult & Omit<DataLog, 'register'>;

/** A log that does not read far enough to be compared. */
interface Unread extends Omit<DataLog, 'register'> {
  readonly error: string;
}

/** Declares the command. */
export function addFsck(program: Command): void {
  withData(program.command('fsck'))
    .summary('check a stopped data folder against its entries')
    .description(
      'Derives everything again from the entries (rules, signatures, tree, heads, rows, map roots) and ' +
        'compares it with what is stored and with the checkpoint register. Compares the databases of tenants and of ' +
        'the keys of disclosures with what was acknowledged, and the sealed disclosures of the logs with these ' +
        'keys. In the folder of a node, whose copies may lack the newest rounds, it compares them with the register ' +
        'as far as they go; DATABASE_URL names the database that has it. Repairs nothing.',
    )
    .addOption(logsOption())
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExits 0 without differences, 1 with differences, 2 when a log cannot be read far enough to decide; the ' +
        'rest is checked all the same. Differences in `plugin row` only are mended by reindex, all others by restore.',
    )
    .action(acting(EXIT.unknown, run));
}

async function run(options: FsckCommand): Promise<number> {
  const { config } = await settingsOf(options);
  const quiet = options.json === true;
  const checked: FsckReport[] = [];
  const unread: Unread[] = [];
  for (const log of await dataLogs(config, options.log)) {
    const { kind, number, folder } = log;
    try {
      const report = await checkLog(config, log, quiet);
      checked.push(report);
      if (!quiet) print(report);
    } catch (error) {
      // One that a server has open: so are all others.
      if (!isLogError(error) || error.code === 'log_locked') throw error;
      const { message } = error;
      unread.push({ kind, number, folder, error: message });
      process.stderr.write(`actlog: ${kind}/${String(number)}: ${message}\n`);
    }
  }
  const databases = await inspect(config, checked, unread);
  if (quiet) console.log(JSON.stringify([...checked, ...unread, ...databases], null, 2));
  else for (const database of databases) printDatabase(database);
  if (unread.length > 0) return EXIT.unknown;
  return [...checked, ...databases].every(({ count }) => count === 0) ? EXIT.ok : EXIT.failed;
}

async function checkLog(config: Config, log: DataLog, quiet: boolean): Promise<FsckReport> {
  const { fsck } = await import('../../log/operate.ts');
  const { kind, number, folder, register } = log;
  const node = isNode(config);
  const refusal = isMarked(config.DATA_DIR) ? await refusalOf(registerPlace(config)) : null;
  const known = !node || config.DATABASE_URL !== '';
  const { vkey, why } = known
    ? await vkeyOf(config, log)
    : { why: 'the checkpoint register: it is in the database of the cluster; set DATABASE_URL' };
  const bar = progress(`${kind}/${String(number)}`, !quiet);
  try {
    const result = await fsck({
      folder,
      ...(known ? { outside: { register, name: registerName(kind, number) } } : {}),
      may_lack: node,
      types: await broughtTypes(config),
      threads: threads(),
      ...(vkey === undefined ? {} : { vkey }),
      onProgress: bar.at,
    });
    const unchecked = [...result.unchecked, ...[why ?? [], refusal ?? []].flat()];
    return { kind, number, folder, ...result, unchecked };
  } finally {
    bar.end();
  }
}

/** The gateway's databases, and the sealed disclosures of the logs that were checked. */
async function inspect(
  config: Config,
  checked: readonly FsckReport[],
  unread: readonly Unread[],
): Promise<readonly DatabaseReport[]> {
  const { inspectDatabases, inspectNode } = await import('../databases.ts');
  if (isNode(config)) return inspectNode(config.DATA_DIR);
  const kinds = LOG_KINDS.map((kind) => ({
    kind,
    folders: checked.filter((log) => log.kind === kind).map(({ folder }) => folder),
    whole: unread.every((log) => log.kind !== kind),
  }));
  const place = registerPlace(config);
  const copy = !isMarked(config.DATA_DIR) || (await refusalOf(place)) !== null;
  return inspectDatabases(config.DATA_DIR, await findRegister(place), kinds, { copy });
}

function printDatabase({ database, rows, count, differences, unchecked }: DatabaseReport): void {
  console.log(`${database}  ${String(rows)} rows  ${verdictOf(count)}`);
  printDifferences(count, differences);
  for (const what of unchecked) console.log(`  not checked: ${what}`);
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

/** Declares the command. */
export function addReindex(program: Command): void {
  withData(program.command('reindex'))
    .summary('rebuild the rows of plugins from the entries')
    .description(
      'Deletes what plugins have derived from the entries (counts, usage, indexes) and derives it again. Use it after a ' +
        'plugin changed its rules, or after fsck reported plugin rows. After an interruption it starts over; until ' +
        'it has finished the log does not open. Rows of plugins that are not loaded are kept. In a cluster, run it on ' +
        'one node, with the settings of that node, while all nodes are stopped: the others get the rows from the database.',
    )
    .addOption(logsOption())
    .action(acting(EXIT.failed, runReindex));
}

async function runReindex(options: DataOptions & { log: string }): Promise<number> {
  const { rebuildRows, reindex } = await import('../../log/operate.ts');
  const { config } = await settingsOf(options);
  const types = await broughtTypes(config);
  if (isNode(config)) {
    if (config.CLUSTER !== 'on') {
      throw new CommandError(
        `${config.DATA_DIR} is that of a node: set CLUSTER=on and the other settings of that node`,
      );
    }
    const { withStoppedCluster } = await import('../../gateway/cluster/stopped.ts');
    await withStoppedCluster(config, async (logs) => {
      for (const log of logs.filter(({ kind }) => options.log === 'both' || options.log === kind)) {
        await rebuilt(log, (onProgress) => rebuildRows(log.store, { types, onProgress }));
      }
    });
  } else {
    for (const log of await dataLogs(config, options.log)) {
      await rebuilt(log, (onProgress) => reindex({ folder: log.folder, types, onProgress }));
    }
  }
  // The next start makes the search index anew. Not before: a service that runs keeps its own.
  await rm(join(config.DATA_DIR, 'search'), { recursive: true, force: true });
  return EXIT.ok;
}

async function rebuilt(
  { kind, number }: Pick<DataLog, 'kind' | 'number'>,
  rebuild: (onProgress: NonNullable<ReindexOptions['onProgress']>) => Promise<Reindexed>,
): Promise<void> {
  const name = `${kind}/${String(number)}`;
  const bar = progress(name);
  const { size, untouched } = await rebuild(bar.at);
  bar.end();
  console.log(`${name}: rebuilt from ${String(size)} entries`);
  for (const plugin of untouched) console.log(`  left as it is: ${plugin}, not loaded`);
}
