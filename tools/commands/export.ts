// `actlog export`: the logs as static files that any web server can serve.

import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Kind } from '../../log/index.ts';
import {
  acting,
  CommandError,
  EXIT,
  isCommandError,
  logsOption,
  settingsOf,
  withData,
} from '../command-line.ts';
import type { DataOptions } from '../command-line.ts';
import { dataLogs, vkeyOf } from '../data-logs.ts';
import type { ExportOptions } from '../export/export-log.ts';
import { progress } from '../progress.ts';

interface ExportCommand extends DataOptions {
  readonly from?: string;
  readonly log: Kind | 'both';
  readonly vkey?: readonly string[];
  readonly kit?: string;
}

/** Where the kit of a service stands, there and in the export. */
const KIT_PATH = 'export/offline-verify-kit.json';

/** Declares the command. */
export function addExport(program: Command): void {
  withData(program.command('export <folder>'))
    .summary('write the logs as static files')
    .description(
      'Writes checkpoint, tiles and entry bundles of the logs to log/<kind>/<number>/ of a folder, the paths that ' +
        'the service has, so that any web server can serve them to monitors and verifiers. Everything is computed ' +
        'again from the entries while it is written. If it is run again, it continues where it stopped.',
    )
    .option(
      '--from <address>',
      'a service, one log of it, or a C2SP prefix (default: the data folder, which no server may have open)',
    )
    .addOption(logsOption())
    .option('--vkey <vkey...>', 'verifier keys of the logs, as C2SP writes them; with --from')
    .option('--kit <file>', 'offline verification kit with these keys; with --from')
    .addHelpText(
      'after',
      `
  actlog export /var/www/actlog --from https://actlog.example
  actlog monitor https://copy.example          follows the copy, and its kit, like the service itself

Without --vkey or --kit the keys are those of the operator's own kit, which is exported as well; of a bare prefix
the signature is then not checked, and that is said.

Exits 0 when the folder is whole, 1 when it is not, 3 when a log contradicts what the folder has of it, 4 when
the mirror did not answer or is behind the folder. The checkpoint is written last.`,
    )
    .action(
      acting(EXIT.failed, async (folder: string, options: ExportCommand) => {
        try {
          await (options.from === undefined
            ? ofData(resolve(folder), options)
            : ofMirror(resolve(folder), options.from, options));
        } catch (error) {
          if ((error as Error).name !== 'MirrorTrouble') throw error;
          throw new CommandError((error as Error).message, EXIT.trouble);
        }
        return EXIT.ok;
      }),
    );
}

async function ofData(target: string, options: ExportCommand): Promise<void> {
  const { StoreMirror } = await import('../export/store-mirror.ts');
  const { config } = await settingsOf(options);
  for (const log of await dataLogs(config, options.log)) {
    const { vkey } = await vkeyOf(config, log);
    const mirror = await StoreMirror.open(log.folder);
    try {
      await one(`${log.kind}/${String(log.number)}`, target, mirror, vkey);
    } finally {
      await mirror.close();
    }
  }
}

async function ofMirror(target: string, from: string, options: ExportCommand): Promise<void> {
  const { placeOf } = await import('../monitor/place.ts');
  const { findPin } = await import('../monitor/pins.ts');
  const place = await placeOf(from, options.log, {});
  const { vkey: vkeys, kit } = options;
  const pins = {
    ...(vkeys === undefined ? {} : { vkey: vkeys }),
    ...(kit === undefined ? {} : { kit }),
  };
  let found = 0;
  for (const kind of place.kinds) {
    for (let number = place.from; ; number += 1) {
      const mirror = place.mirror(kind, number);
      try {
        if ((await mirror.newest()) === null) break;
        const pin = await findPin(pins, place.base, kind, number);
        await one(`${kind}/${String(number)}`, target, mirror, pin?.vkey);
        found += 1;
      } finally {
        await mirror.close();
      }
      // A prefix is one log, whatever its number.
      if (place.base === null) break;
    }
  }
  if (found === 0) throw new CommandError(`${from} has no log`, EXIT.trouble);
  if (place.base !== null) await kitOf(target, place.base);
}

async function one(
  name: string,
  target: string,
  mirror: ExportOptions['mirror'],
  vkey: string | undefined,
): Promise<void> {
  const { exportLog } = await import('../export/export-log.ts');
  const bar = progress(name);
  const { origin, size, fetched } = await exportLog({
    mirror,
    folder: join(target, 'log', name),
    onProgress: bar.at,
    ...(vkey === undefined ? {} : { vkey }),
  }).finally(bar.end);
  const unsigned = vkey === undefined ? '; its signature was not checked: no key is known' : '';
  console.log(`${origin}: ${String(size)} entries, ${String(fetched)} of them new${unsigned}`);
}

/** The kit of the service goes with its logs, so that a copy can be followed like the service. */
async function kitOf(target: string, base: URL): Promise<void> {
  const { fetchText, MAX_KIT_BYTES } = await import('../fetch-text.ts');
  const { StaticFiles } = await import('../export/static-files.ts');
  let kit: string;
  try {
    kit = await fetchText(new URL(KIT_PATH, base), MAX_KIT_BYTES);
  } catch (error) {
    if (!isCommandError(error)) throw error;
    console.log(`no kit: ${error.message}`);
    return;
  }
  await new StaticFiles(target).finish(KIT_PATH, kit);
}
