// Appends whose rounds are committed in PostgreSQL, against the embedded store in the same run; how far a follower in
// this process is behind; and how fast a new node fills its copy. Needs a PostgreSQL server of the same machine, which
// BENCH_DATABASE_URL names with an empty database; without it nothing is measured.

import { join } from 'node:path';
import {
  ClusterDatabase,
  loadSnapshot,
  makeFolder,
  Replica,
  writeSnapshot,
} from '../../log/index.ts';
import type { Draft, Log } from '../../log/index.ts';
import { inFlight, openBenchLog, statements, temporaryFolder } from './bench-log.ts';
import { interleave, stealMeter } from './figure.ts';
import type { Bench, BenchOptions, Figure } from './figure.ts';

const STREAM = 'live-1';
/** How often the follower asks, and the rate of appends while its lag is measured. */
const PULL_MS = 10;
const LAG_RATE = 1000;
const LAG_SECONDS = 5;

/** The measurements of a cluster. */
export const cluster: Bench = {
  name: 'cluster',
  async run(options) {
    const url = process.env['BENCH_DATABASE_URL'] ?? '';
    return url === '' ? [] : measured(url, options);
  },
};

async function measured(url: string, { quick }: BenchOptions): Promise<Figure[]> {
  const folder = await temporaryFolder();
  const database = await ClusterDatabase.open(url, { address: 'bench', lease_ms: 60_000 });
  await database.lease.acquire();
  const open = async (name: string): Promise<Replica> => {
    const path = join(folder.path, name, 'live', '1');
    await makeFolder(path);
    const onFailure = (error: unknown): void => {
      throw error;
    };
    return Replica.open({ database, stream: STREAM, folder: path, cluster: 'bench', onFailure });
  };
  const replica = await open('leader');
  replica.lead(database.lease.epoch ?? '0');
  const embedded = await openBenchLog(join(folder.path, 'embedded'));
  const { register } = database;
  const shared = await openBenchLog(join(folder.path, 'leader'), { replica, register });
  try {
    const steal = stealMeter();
    const count = quick ? 10_000 : 30_000;
    const alone = await statements(embedded.log);
    const draft = await statements(shared.log);
    const parts = await interleave(quick ? 3 : 5, {
      appends: () => appends(shared.log, draft, count),
      embedded: () => appends(embedded.log, alone, count),
    });
    const follower = await open('follower');
    const lag_ms = await lag(shared.log, draft, follower);
    await follower.close();
    await writeSnapshot(database, replica);
    await appends(shared.log, draft, count);
    const began = performance.now();
    const fresh = await open('fresh');
    await loadSnapshot(database, fresh, () => undefined);
    while ((await fresh.pull()).more);
    const filled = shared.log.size() / ((performance.now() - began) / 1000);
    await fresh.close();
    const stolen = steal();
    return [
      {
        name: 'cluster.append',
        what: 'signed appends/s committed in PostgreSQL ÷ those of the embedded store',
        unit: 'ratio',
        better: 'higher',
        at_least: 0.5,
        aim: 0.7,
        value: parts.appends / parts.embedded,
        parts,
        steal: stolen,
      },
      {
        name: 'cluster.lag',
        what: 'longest lag of a follower at 1,000 appends/s',
        unit: 'ms',
        better: 'lower',
        at_least: 1000,
        aim: 100,
        value: lag_ms,
        parts: {},
        steal: stolen,
      },
      {
        name: 'cluster.fill',
        what: 'entries/s of a new node that fills its copy ÷ 20,000',
        unit: 'ratio',
        better: 'higher',
        at_least: 1,
        aim: 2,
        value: filled / 20_000,
        parts: { filled },
        steal: stolen,
      },
    ];
  } finally {
    await shared.close();
    await embedded.close();
    await replica.close();
    await database.close();
    await folder.remove();
  }
}

const appends = (log: Log, draft: () => Draft, count: number): Promise<number> =>
  inFlight(count, () => log.append([draft()]));

/** The longest time from the acknowledgement of an append until a follower has applied its round. */
async function lag(log: Log, draft: () => Draft, follower: Replica): Promise<number> {
  while ((await follower.pull()).more);
  let size = log.size();
  follower.follow((writes) => {
    size += writes.filter(({ key }) => key[0] === 'e'.charCodeAt(0)).length;
  });
  const waiting: { readonly size: number; readonly at: number }[] = [];
  let longest = 0;
  const ended = new AbortController();
  const following = (async () => {
    while (!ended.signal.aborted) {
      await follower.pull();
      const now = performance.now();
      while ((waiting[0]?.size ?? Infinity) <= size) {
        longest = Math.max(longest, now - (waiting.shift()?.at ?? now));
      }
      await new Promise((resolve) => setTimeout(resolve, PULL_MS));
    }
  })();
  const each = LAG_RATE / 100;
  for (let turn = 0; turn < LAG_SECONDS * 100; turn += 1) {
    const next = performance.now() + 10;
    await Promise.all(Array.from({ length: each }, () => log.append([draft()])));
    waiting.push({ size: log.size(), at: performance.now() });
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - performance.now())));
  }
  while (waiting.length > 0) await new Promise((resolve) => setTimeout(resolve, PULL_MS));
  ended.abort();
  await following;
  return longest;
}
