// `actlog monitor` checks every rule of a log; `actlog witness` is a C2SP witness for logs that the operator names.

import type { Command } from 'commander';
import { acting, CommandError, EXIT, logsOption, threads } from '../command-line.ts';
import type { MonitorOptions } from '../monitor/run.ts';

/** Declares the command. */
export function addMonitor(program: Command): void {
  program
    .command('monitor <address>')
    .summary('re-verify everything that a service publishes')
    .description(
      'Follows the logs of a service from their C2SP prefix: checkpoints and entry bundles. Replays every ' +
        'entry (rules, signatures, links, map roots), compares every checkpoint with those before it and hash tiles ' +
        'with the entries, and follows each log and its successors. The address is a service, one log of it, or a prefix with a checkpoint.',
    )
    .option(
      '--once',
      'check once up to the newest checkpoints, then exit; checkpoint times are not compared with the clock',
    )
    .option('--state <folder>', 'folder for cursors, pinned keys and findings', 'actlog-monitor')
    .addOption(logsOption())
    .option('--vkey <vkey...>', 'verifier keys of the logs, as C2SP writes them')
    .option(
      '--kit <file>',
      'offline verification kit with these keys: a file kept earlier, or an address',
    )
    .option(
      '--require-ml-dsa',
      'report a checkpoint that the log has not signed with ML-DSA-44 too as a violation',
    )
    .option('--interval <span>', 'interval between two checks', '10s')
    .option('--json', 'one JSON object a line')
    .option('--watch <key...>', 'report new entries of these chains, such as \'["session","…"]\'')
    .option(
      '--webhook <url>',
      'post findings, watched entries and lasting failures to this address',
    )
    .option('--metrics <host:port>', 'serve /metrics (Prometheus) and /health at this address')
    .option('--policy <file>', 'report checkpoints without the quorum of this C2SP tlog-policy')
    .option('--max-cosignature-age <span>', 'also report a quorum that is older than this', '15m')
    .option('--cosign <name>', 'cosign checked checkpoints, with a key named <name>/map')
    .option(
      '--cosign-key <file>',
      'file of the cosigning key, made on first use (default: in the state folder)',
    )
    .option(
      '--cosign-serve <host:port>',
      'address to listen on for cosigning requests (tlog-witness)',
      '127.0.0.1:8091',
    )
    .addHelpText(
      'after',
      `
Without --vkey or --kit the keys are taken from the operator's own kit on first use, said, and pinned: from then
on another key is refused. A violation is printed with the signed objects that prove it, kept in the state
folder, and held until that file is moved away. No answer is not a violation: it is asked again. A tile or bundle
that the checkpoint implies and that is answered with 404 three times is one. With --once every hash tile is read,
else a sample at each look and all of them in a day.

--cosign prints the line for the policy file of the log. The log asks for each checkpoint; it is cosigned once
every entry up to its size has been replayed here, and never before. A webhook is signed with that key (v1a).

Exits 0 when all is well (--once, or stopped by a signal), 2 for a wrong command line or key, 3 on a violation,
4 when --once got no answer, or found the cosignatures that --policy asks for too few or too old.`,
    )
    .action(acting(EXIT.unknown, run));
}

async function run(address: string, options: MonitorOptions): Promise<number> {
  const { runMonitor } = await import('../monitor/run.ts');
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      stop.abort();
    });
  }
  return runMonitor(address, options, { threads: threads(), signal: stop.signal });
}

interface WitnessOptions {
  readonly name: string;
  readonly log: readonly string[];
  readonly data: string;
  readonly host: string;
  readonly port: string;
  readonly webhook?: string;
  readonly metrics?: string;
}

/** Declares the command. */
export function addWitness(program: Command): void {
  program
    .command('witness')
    .summary('cosign the checkpoints of other logs')
    .description(
      'Runs a witness by C2SP tlog-witness: it cosigns a checkpoint when it is consistent with the last one it ' +
        'cosigned, and keeps what it cosigned on disk. The first start makes the key and prints the witness line ' +
        'for the policy file of the log.',
    )
    .requiredOption(
      '--name <name>',
      'key name of the witness, a schema-less URL such as witness.example/one',
    )
    .requiredOption(
      '--log <vkey...>',
      'verifier keys of the logs to cosign, as their kit shows them',
    )
    .option('--data <folder>', 'folder of the key and of what was cosigned', './witness')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port to listen on', '8090')
    .option('--webhook <url>', 'post checkpoints that contradict a cosigned one to this address')
    .option('--metrics <host:port>', 'serve /metrics (Prometheus) and /health at this address')
    .addHelpText(
      'after',
      `
A checkpoint that the log signed and that contradicts the cosigned one is kept in the data folder as a finding,
written to standard error, and posted to the webhook, signed with the key of the witness (v1a). GET /conflicts lists
the findings; actlog verify checks each of them.`,
    )
    .action(
      acting(EXIT.failed, async (options: WitnessOptions) => {
        const port = Number(options.port);
        if (!Number.isInteger(port) || port < 0 || port > 65_535) {
          throw new CommandError(`--port ${options.port} is not from 0 to 65535`);
        }
        const { startWitness } = await import('../witness/start.ts');
        await startWitness({ ...options, port });
        return EXIT.ok;
      }),
    );
}
