// `actlog classify`, `bench` and `hammer`: thin doors to tools that load only when they run.

import type { Command } from 'commander';
import { acting, EXIT } from '../command-line.ts';
import type { BenchCommand } from './bench.ts';
import type { HammerOptions } from './hammer.ts';

/** Declares the commands. */
export function addMeasures(program: Command): void {
  program
    .command('classify')
    .summary('classify lines of standard input, offline')
    .description(
      'Classifies messages with the built-in classifier, without a service and without a receipt: one JSON ' +
        'object {"text", "domain"} a line in, one answer a line out. Exits 1 when a line was no such object.',
    )
    .action(
      acting(EXIT.failed, async () => {
        const { classify } = await import('./classify.ts');
        return classify(process.stdin, process.stdout);
      }),
    );
  program
    .command('bench')
    .summary('measure the log against bare baselines')
    .description(
      'Measures the required figures, each as a ratio to a bare baseline in the same run. Exits 0 ' +
        'when every figure is met, 1 when not, 2 for a name it does not know.',
    )
    .option('--only <name>', 'a measurement or figure, or a prefix of its name')
    .option('--quick', 'small sizes: checks that the benchmark runs, the figures mean nothing')
    .option('--entries <number>', 'entries of the large log of growth, startup and cluster')
    .option('--json', 'JSON alone, without the table')
    .action(
      acting(EXIT.failed, async (options: BenchCommand) => {
        const { bench } = await import('./bench.ts');
        return bench(options);
      }),
    );
  program
    .command('hammer <address>')
    .summary('put load on a service and check its answers')
    .description(
      'Appends and reads at a rate, and compares every answer with the ones before: receipts, proofs, ' +
        'checkpoints. Exits 0 when every answer was right, 1 when one was wrong.',
    )
    .requiredOption('--key <key>', 'API key; its kind decides which log is used')
    .option('--rate <number>', 'appends a second; 0: as many as the service answers', '0')
    .option('--connections <number>', 'connections, a quarter of them reading', '16')
    .option('--seconds <number>', 'how long', '10')
    .option('--json', 'print JSON')
    .action(
      acting(EXIT.unknown, async (address: string, options: HammerOptions) => {
        const { hammer } = await import('./hammer.ts');
        return hammer(address, options);
      }),
    );
}
