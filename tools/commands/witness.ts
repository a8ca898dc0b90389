// `actlog witness`: a C2SP witness for logs that the operator names.

import type { Command } from 'commander';
import { acting, CommandError, EXIT } from '../command-line.ts';

interface WitnessOptions {
  readonly name: string;
  readonly log: readonly string[];
  readonly data: string;
  readonly host: string;
  readonly port: string;
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
