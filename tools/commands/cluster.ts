// `actlog cluster`: the state of a node, healing a database that lost commits, and handing over the leadership.

import type { Command } from 'commander';
import type { AdminArgs } from '../../gateway/tenants/admin.ts';
import { administer, printTable } from '../administer.ts';
import { acting, CommandError, EXIT, settingsOf, withData } from '../command-line.ts';
import type { DataOptions } from '../command-line.ts';
import { isNode } from '../data-logs.ts';

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

/** The last round of a stream that a node has reported, and that the database lacks. */
interface Lost {
  readonly stream: string;
  readonly address: string;
  readonly seq: number;
}

interface Healed {
  /** The number of rounds by stream. */
  readonly healed: Readonly<Record<string, number>>;
  readonly given_up: readonly Lost[];
  /** What the database still lacks. */
  readonly lost: readonly Lost[];
}

type Options = DataOptions & { readonly json?: boolean };
type HealOptions = Options & { readonly acceptLoss?: boolean };

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
        const status = await askNode<Status>(options, 'cluster status');
        if (options.json === true) console.log(JSON.stringify(status, null, 2));
        else print(status);
        return status.problem === null ? EXIT.ok : EXIT.failed;
      }),
    );
  withData(cluster.command('heal'))
    .description(
      'Gives rounds that this node has applied back to a database that has lost them, when they continue its ' +
        'sequence. Changes nothing otherwise. Fails while the database lacks rounds that a node has reported.',
    )
    .option(
      '--accept-loss',
      'give up rounds that this node reported before it lost its data folder: acknowledged entries are lost',
    )
    .option('--json', 'print JSON')
    .action(
      acting(EXIT.failed, async (options: HealOptions) => {
        const accept_loss = options.acceptLoss === true;
        const result = await askNode<Healed>(options, 'cluster heal', { accept_loss });
        if (options.json === true) console.log(JSON.stringify(result));
        else printHealed(result);
        return result.lost.length === 0 ? EXIT.ok : EXIT.failed;
      }),
    );
  withData(cluster.command('step-down'))
    .description('Ends the leadership of this node; another one takes it in about a second.')
    .option('--json', 'print JSON')
    .action(
      acting(EXIT.failed, async (options: Options) => {
        const result = await askNode<object>(options, 'cluster step-down');
        console.log(options.json === true ? JSON.stringify(result) : 'stepped down');
        return EXIT.ok;
      }),
    );
}

/** Has the node that runs on the data folder perform a verb; throws CommandError if the service is no node. */
async function askNode<T>(options: Options, verb: string, args: AdminArgs = {}): Promise<T> {
  const { config } = await settingsOf(options);
  if (config.CLUSTER !== 'on' && !isNode(config)) {
    throw new CommandError(
      `the service on ${config.DATA_DIR} runs as one process: a node of a cluster has CLUSTER=on`,
    );
  }
  return administer<T>(options, verb, args);
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

function printHealed({ healed, given_up, lost }: Healed): void {
  const streams = Object.entries(healed);
  if (streams.length > 0) {
    printTable(
      ['stream', 'rounds given back'],
      streams.map(([stream, rounds]) => [stream, String(rounds)]),
    );
  } else if (lost.length + given_up.length === 0) console.log('the database has lost nothing');
  for (const { stream, seq } of given_up) {
    console.log(`given up: the rounds of ${stream} up to ${String(seq)} that the database lacks`);
  }
  for (const { stream, address, seq } of lost) {
    console.log(
      `the database lacks round ${String(seq)} of ${stream}, which ${address} had applied`,
    );
  }
}
