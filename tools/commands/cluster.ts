// `actlog cluster`: the state of a node, healing a database that lost commits, and handing over the leadership.

import type { Command } from 'commander';
import { administer, printTable } from '../administer.ts';
import { acting, EXIT, withData, type DataOptions } from '../command-line.ts';

interface Status {
  readonly cluster: string;
  readonly address: string;
  readonly role: string | null;
  readonly leader: string | null;
  readonly epoch: string | null;
  readonly lag_ms: number;
  readonly applied: Readonly<Record<string, number>>;
  readonly problem: string | null;
  readonly database: readonly { stream: string; rounds: number; bytes: number }[] | null;
}

type Options = DataOptions & { readonly json?: boolean };

/** Declares `cluster` with its verbs. */
export function addCluster(program: Command): void {
  const cluster = program
    .command('cluster')
    .summary('inspect and heal a cluster')
    .description(
      'Commands for a node of a cluster (CLUSTER=on). They work through the node that runs on the data folder.',
    );
  withData(cluster.command('status'))
    .description(
      'Shows the role of the node, the leader, and the rounds that the node has applied.',
    )
    .option('--json', 'print JSON')
    .action(
      acting(EXIT.failed, async (options: Options) => {
        const status = await administer<Status>(options, 'cluster status');
        if (options.json === true) console.log(JSON.stringify(status, null, 2));
        else print(status);
        return status.problem === null ? EXIT.ok : EXIT.failed;
      }),
    );
  withData(cluster.command('heal'))
    .description(
      'Gives rounds that this node has applied back to a database that has lost them, when they continue its ' +
        'sequence. Changes nothing otherwise.',
    )
    .option('--json', 'print JSON')
    .action(
      acting(EXIT.failed, async (options: Options) => {
        const { healed } = await administer<{ healed: Readonly<Record<string, number>> }>(
          options,
          'cluster heal',
        );
        if (options.json === true) console.log(JSON.stringify({ healed }));
        else if (Object.keys(healed).length === 0) console.log('the database has lost nothing');
        else {
          printTable(
            ['stream', 'rounds given back'],
            Object.entries(healed).map(([stream, rounds]) => [stream, String(rounds)]),
          );
        }
        return EXIT.ok;
      }),
    );
  withData(cluster.command('step-down'))
    .description('Ends the leadership of this node; another one takes it in about a second.')
    .option('--json', 'print JSON')
    .action(
      acting(EXIT.failed, async (options: Options) => {
        const result = await administer<object>(options, 'cluster step-down');
        console.log(options.json === true ? JSON.stringify(result) : 'stepped down');
        return EXIT.ok;
      }),
    );
}

function print(status: Status): void {
  const { role, leader, epoch, lag_ms, address, problem, cluster, applied, database } = status;
  console.log(`node ${address} of cluster ${cluster}: ${role ?? 'serves nothing'}`);
  console.log(`leader: ${leader ?? 'none'}, epoch ${epoch ?? 'unknown'}, lag ${String(lag_ms)} ms`);
  if (problem !== null) console.log(`problem: ${problem}`);
  printTable(
    ['stream', 'applied round', 'rounds in the database', 'bytes'],
    Object.entries(applied).map(([stream, seq]) => {
      const held = database?.find((one) => one.stream === stream);
      return [stream, String(seq), String(held?.rounds ?? '-'), String(held?.bytes ?? '-')];
    }),
  );
}
