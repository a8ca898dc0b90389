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
import { parseSpan } from '../duration.ts';
import type { OpenMirror } from '../mirror/open.ts';
import type { Place } from '../monitor/place.ts';
import { progress } from '../progress.ts';

interface ExportCommand extends DataOptions {
  readonly from?: string;
  readonly follow?: true;
  readonly interval: string;
  readonly log: Kind | 'both';
  readonly vkey?: readonly string[];
  readonly kit?: string;
}

/** Path of the kit, at the service and in the export. */
const KIT_PATH = 'export/offline-verify-kit.json';
/** How often it is fetched again with --follow. */
const KIT_MS = 60_000;

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
    .option(
      '--follow',
      'stay and follow the service as it grows (without --from: the service at BASE_URL)',
    )
    .option('--interval <span>', 'with --follow: how often the service is asked', '2s')
    .addOption(logsOption())
    .option('--vkey <vkey...>', 'verifier keys of the logs, as C2SP writes them; with --from')
    .option('--kit <file>', 'offline verification kit with these keys; with --from')
    .addHelpText(
      'after',
      `
  actlog export /var/www/actlog --from https://actlog.example
  actlog export --follow /var/www/actlog --from http://localhost:8080
  actlog monitor https://copy.example          follows the copy, and its kit, like the service itself

Without --vkey or --kit the keys are those of the operator's own kit, which is exported as well; of a bare prefix
the signature is then not checked, and that is said.

Exits 0 when the folder is whole, 1 when it is not, 3 when a log contradicts what the folder has of it, 4 when
the mirror did not answer or is behind the folder. The checkpoint is written last. With --follow, no answer is
reported and asked again, a signal ends it with 0, and a partial tile is deleted an hour after its full tile exists.`,
    )
    .action(
      acting(EXIT.failed, async (folder: string, options: ExportCommand) => {
        try {
          await exportTo(resolve(folder), options);
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
      await (
        await stepOf(`${log.kind}/${String(log.number)}`, target, mirror, vkey)
      )();
    } finally {
      await mirror.close();
    }
  }
}

async function exportTo(target: string, options: ExportCommand): Promise<void> {
  const { from } = options;
  if (options.follow === true) {
    await following(target, from ?? (await ownAddress(options)), options);
  } else if (from === undefined) await ofData(target, options);
  else {
    const copy = new Copy(target, from, options);
    await copy.round().finally(() => copy.close());
  }
}

async function ownAddress(options: DataOptions): Promise<string> {
  const { BASE_URL, PORT } = (await settingsOf(options)).config;
  return BASE_URL === '' ? `http://localhost:${String(PORT)}` : BASE_URL;
}

async function following(target: string, from: string, options: ExportCommand): Promise<void> {
  const { follow } = await import('../export/export-log.ts');
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      stop.abort();
    });
  }
  const copy = new Copy(target, from, options);
  await follow(() => copy.round(), {
    interval_ms: parseSpan(options.interval),
    signal: stop.signal,
    onTrouble(message, wait_ms) {
      process.stderr.write(`actlog: ${message}; again in ${String(wait_ms / 1000)} s\n`);
    },
  }).finally(() => copy.close());
}

/** The logs of one address in a folder. */
class Copy {
  readonly #target: string;
  readonly #from: string;
  readonly #options: ExportCommand;
  #place: Place | null = null;
  readonly #logs = new Map<
    string,
    { readonly mirror: OpenMirror; readonly step: () => Promise<void> }
  >();
  #kit_at_ms = -Infinity;

  constructor(target: string, from: string, options: ExportCommand) {
    this.#target = target;
    this.#from = from;
    this.#options = options;
  }

  /** Brings every log up to date, those that are new at the address too. */
  async round(): Promise<void> {
    const { placeOf } = await import('../monitor/place.ts');
    const { findPin } = await import('../monitor/pins.ts');
    this.#place ??= await placeOf(this.#from, this.#options.log, {});
    const place = this.#place;
    const { vkey: vkeys, kit } = this.#options;
    const pins = {
      ...(vkeys === undefined ? {} : { vkey: vkeys }),
      ...(kit === undefined ? {} : { kit }),
    };
    for (const kind of place.kinds) {
      for (let number = place.from; ; number += 1) {
        const name = `${kind}/${String(number)}`;
        let log = this.#logs.get(name);
        if (log === undefined) {
          const mirror = place.mirror(kind, number);
          if ((await mirror.newest()) === null) {
            await mirror.close();
            break;
          }
          const pin = await findPin(pins, place.base, kind, number);
          const step = await stepOf(name, this.#target, mirror, pin?.vkey, this.#options.follow);
          log = { mirror, step };
          this.#logs.set(name, log);
        }
        await log.step();
        // A prefix is one log, whatever its number.
        if (place.base === null) break;
      }
    }
    if (this.#logs.size === 0) throw new CommandError(`${this.#from} has no log`, EXIT.trouble);
    if (place.base !== null) await this.#kit(place.base);
  }

  async close(): Promise<void> {
    for (const { mirror } of this.#logs.values()) await mirror.close();
  }

  async #kit(base: URL): Promise<void> {
    if (performance.now() - this.#kit_at_ms < KIT_MS) return;
    await kitOf(this.#target, base);
    this.#kit_at_ms = performance.now();
  }
}

/** Makes the function that brings the folder of one log up to date, and reports it when there was something new. */
async function stepOf(
  name: string,
  target: string,
  mirror: ExportOptions['mirror'],
  vkey: string | undefined,
  follow = false,
): Promise<() => Promise<void>> {
  const { LogExport } = await import('../export/export-log.ts');
  let bar: ReturnType<typeof progress> | null = progress(name);
  const log = new LogExport({
    mirror,
    folder: join(target, 'log', name),
    onProgress: (done, size) => bar?.at(done, size),
    ...(vkey === undefined ? {} : { vkey }),
  });
  let shown = -1;
  return async () => {
    const { origin, size, fetched } = await log.step().finally(() => {
      bar?.end();
      bar = null;
    });
    if (follow) await log.removeSuperseded();
    if (size === shown) return;
    shown = size;
    const unsigned = vkey === undefined ? '; its signature was not checked: no key is known' : '';
    console.log(`${origin}: ${String(size)} entries, ${String(fetched)} of them new${unsigned}`);
  };
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
