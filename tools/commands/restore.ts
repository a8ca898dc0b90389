// `actlog restore` catches up a database that is behind its checkpoint register, and `actlog backup` makes a consistent
// copy of the databases while the server runs.

import { resolve } from 'node:path';
import type { Command } from 'commander';
import { logNumbers, native, parseVkey } from '../../log/index.ts';
import type { Kind, Succession } from '../../log/index.ts';
import { registerPlace } from '../../gateway/config.ts';
import { broughtTypes } from '../brought-types.ts';
import {
  acting,
  CommandError,
  EXIT,
  kindOption,
  settingsOf,
  threads,
  withData,
} from '../command-line.ts';
import type { DataOptions } from '../command-line.ts';
import { dataLog, refuseNode, vkeyOf } from '../data-logs.ts';
import { progress } from '../progress.ts';
import { administer } from '../administer.ts';

interface RestoreCommand extends DataOptions {
  readonly log: Kind;
  readonly number?: string;
  readonly from?: string;
  readonly successor?: boolean;
}

/** Declares the command. */
export function addRestore(program: Command): void {
  withData(program.command('restore'))
    .summary('bring a restored backup up to date, or open a successor log')
    .description(
      'A database that is behind its checkpoint register does not open, because appending to it would fork the log. ' +
        'Stop the server, then either restore the missing entries from a mirror, or open a successor log. A node of a ' +
        'cluster opens one while it serves.',
    )
    .addOption(kindOption('which log', '--log').makeOptionMandatory())
    .option('--number <n>', 'number of the log (default: the newest)')
    .option(
      '--from <mirror>',
      'a service, an export folder, or the C2SP prefix of the log: an address or a folder',
    )
    .option(
      '--successor',
      'close the log for good (or leave it as lost) and open the next number; needs --number',
    )
    .addHelpText(
      'after',
      `
  actlog restore --log live --from https://mirror.example
  actlog restore --log live --from /var/www/actlog
  actlog restore --log live --number 1 --successor

Catching up verifies every entry, writes what is missing, and must reach the signed checkpoint and the acknowledged
size that the checkpoint file remembers. Idempotency records and disclosures of those entries are not in a mirror.
A successor is a new log with new keys whose first entry names the last checkpoint of the old one: hand its
verifier key out again. In a cluster, run it on the node that leads, while it serves. With WITNESS_POLICY the last checkpoint is published, and a successor opened, only when the
witnesses cosigned it; when they did not, the same command asks them again.`,
    )
    .action(acting(EXIT.failed, run));
}

async function run(options: RestoreCommand): Promise<number> {
  const { config } = await settingsOf(options);
  const number = numberOf(options, config);
  if ((options.from === undefined) === (options.successor !== true)) {
    throw new CommandError('give either --from MIRROR or --successor', EXIT.unknown);
  }
  if (options.successor === true) return succeed(options, config, number);
  refuseNode(config);
  return catchUp(options, config, number);
}

type Config = Awaited<ReturnType<typeof settingsOf>>['config'];

function numberOf({ log, number, successor }: RestoreCommand, config: Config): number {
  if (number !== undefined) {
    if (!/^[1-9]\d{0,8}$/.test(number)) throw new CommandError('--number is from 1', EXIT.unknown);
    return Number(number);
  }
  // Which one is the newest changes with the act itself: a second try must mean the same log.
  if (successor === true) {
    throw new CommandError('--successor needs --number: which log is succeeded', EXIT.unknown);
  }
  return logNumbers(config.DATA_DIR, log).at(-1) ?? 1;
}

async function catchUp({ log, from = '' }: RestoreCommand, config: Config, number: number) {
  const { openMirror } = await import('../mirror/open.ts');
  const { restore } = await import('../../log/operate.ts');
  const place = await dataLog(config, log, number);
  const { vkey, why } = await vkeyOf(config, place);
  if (vkey === undefined) throw new CommandError(`the mirror cannot be checked: ${why ?? ''}`);
  const { name: origin } = parseVkey(native, vkey);
  const mirror = await openMirror(from, { origin, kind: log, number });
  const bar = progress(`${log}/${String(number)}`);
  try {
    await place.register.prepare();
    const restored = await restore({
      ...place,
      vkey,
      mirror,
      types: await broughtTypes(config),
      threads: threads(),
      onProgress: bar.at,
    });
    bar.end();
    const { from: before, to } = restored;
    console.log(
      before === to
        ? `${origin} has all ${String(to)} entries: there was nothing to restore`
        : `${origin} has ${String(to)} entries again, ${String(to - before)} of them from ${mirror.name}`,
    );
    return EXIT.ok;
  } finally {
    bar.end();
    await mirror.close();
    await place.register.close();
  }
}

async function succeed(options: RestoreCommand, config: Config, number: number): Promise<number> {
  const { log } = options;
  const { origin, vkey, published, predecessor, orderly } =
    config.CLUSTER === 'on'
      ? await administer<Succession>(options, 'cluster succeed', { log, number })
      : await succeedAlone(config, log, number);
  const end = `${predecessor.origin} at ${String(predecessor.size)} entries`;
  console.log(orderly ? `closed ${end}` : `left ${end} as lost: nothing is written to it any more`);
  const serve = config.CLUSTER === 'on' ? 'all nodes serve it' : 'serve it';
  console.log(`opened ${origin}: ${serve}, and hand out its new verifier key`);
  console.log(`log ${vkey}`);
  if (!published) {
    console.log('its witnesses do not cosign it yet: show them this line; the server asks again');
  }
  return EXIT.ok;
}

async function succeedAlone(config: Config, kind: Kind, number: number): Promise<Succession> {
  const { succeed: openNext } = await import('../../gateway/succession.ts');
  const { openRegister, openThreads } = await import('../../log/index.ts');
  const { register } = await openRegister(registerPlace(config));
  const shared = openThreads({ inline: true });
  try {
    const types = await broughtTypes(config);
    return await openNext(config, { kind, number, register, types, threads: shared });
  } finally {
    await shared.close();
    await register.close();
  }
}

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
