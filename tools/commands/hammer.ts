// `actlog hammer`: load on a service, and every answer held against what it said before.

import type { RecordableHistogram } from 'node:perf_hooks';
import Table from 'cli-table3';
import { CommandError, EXIT, isCommandError } from '../command-line.ts';
import { Auditor } from '../hammer/auditor.ts';
import { Client, isWrongAnswer } from '../hammer/client.ts';
import { load } from '../hammer/load.ts';
import type { Counted } from '../hammer/load.ts';

/** What the command line says; numbers as it was typed. */
export interface HammerOptions {
  readonly key: string;
  readonly rate: string;
  readonly connections: string;
  readonly seconds: string;
  readonly json?: boolean;
}

/** Hammers a service; exit 0 when every answer was right, 1 when one was wrong, 2 when it cannot start. */
export async function hammer(url: string, options: HammerOptions): Promise<number> {
  const connections = numberOf('--connections', options.connections, 1, 10_000);
  const client = new Client(url, options.key, connections);
  try {
    const auditor = await openAuditor(client);
    const readers = Math.max(1, Math.floor(connections / 4));
    const counted = await load(
      client,
      auditor,
      {
        rate: numberOf('--rate', options.rate, 0, 1_000_000),
        writers: Math.max(1, connections - readers),
        readers,
        seconds: numberOf('--seconds', options.seconds, 1, 86_400),
        name: `hammer-${Date.now().toString(36)}-${String(process.pid)}`,
      },
      ({ appends, wrong }) => {
        process.stderr.write(`${String(appends)} appends, ${String(wrong)} wrong answers\n`);
      },
    );
    await auditor.lookBack();
    console.log(options.json === true ? jsonOf(counted) : tableOf(counted));
    for (const wrong of counted.wrong) process.stderr.write(`wrong answer: ${wrong}\n`);
    return counted.wrong.length === 0 && counted.appends > 0 ? EXIT.ok : EXIT.failed;
  } catch (error) {
    if (!isWrongAnswer(error)) throw troubleOf(url, error);
    process.stderr.write(`wrong answer: ${error.message}\n`);
    return EXIT.failed;
  } finally {
    await client.close();
  }
}

/** The key says which log it writes to. */
async function openAuditor(client: Client): Promise<Auditor> {
  const me = await client.get('/api/v1/me');
  if (me.status !== 200) {
    throw new CommandError(
      `the service refused the key: ${String(me.status)} ${me.text}`,
      EXIT.unknown,
    );
  }
  const { sandbox } = JSON.parse(me.text) as { sandbox?: boolean };
  return Auditor.open(client, sandbox === true ? 'sandbox' : 'live');
}

function tableOf(counted: Counted): string {
  const { appends, replays, receipts, checkpoints, deferred, seconds, write, read } = counted;
  const table = new Table({
    head: ['', 'count', 'a second', 'p50 ms', 'p99 ms', 'max ms'],
    style: { head: [], border: [] },
  });
  const row = (name: string, count: number, histogram?: RecordableHistogram): void => {
    const times =
      histogram === undefined ? ['', '', ''] : millis(histogram).map((ms) => ms.toFixed(1));
    table.push([name, count, (count / seconds).toFixed(0), ...times]);
  };
  row('appends', appends, write);
  row('receipts checked', receipts, read);
  row('idempotent replays checked', replays);
  row('checkpoints checked', checkpoints);
  row('asked to retry later (429, 503)', deferred);
  row('wrong answers', counted.wrong.length);
  return table.toString();
}

function jsonOf({ write, read, ...counted }: Counted): string {
  const named = (histogram: RecordableHistogram): object => {
    const [p50, p99, max] = millis(histogram);
    return { p50_ms: p50, p99_ms: p99, max_ms: max };
  };
  return JSON.stringify({ ...counted, write: named(write), read: named(read) }, null, 2);
}

const millis = (histogram: RecordableHistogram): number[] =>
  histogram.count === 0
    ? [0, 0, 0]
    : [histogram.percentile(50), histogram.percentile(99), histogram.max].map((us) => us / 1000);

function numberOf(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (Number.isFinite(value) && value >= least && value <= most) return value;
  throw new CommandError(
    `${name} is ${text}, the limits are ${String(least)} and ${String(most)}`,
    EXIT.unknown,
  );
}

/** No connection is no wrong answer: nothing was said. */
function troubleOf(url: string, error: unknown): unknown {
  const { code, message } = error as { code?: string; message: string };
  if (isCommandError(error) || code === undefined) return error;
  return new CommandError(`${url} does not answer: ${message || code}`, EXIT.trouble);
}
