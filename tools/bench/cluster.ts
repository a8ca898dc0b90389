// Appends whose rounds are committed in PostgreSQL, against the embedded store in the same run; how fast a new node fills
// its copy; and what nodes.ts measures. Needs a PostgreSQL server of the same machine, which BENCH_DATABASE_URL names
// with an empty database; without it nothing is measured.

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
import { measureNodes } from './nodes.ts';

const STREAM = 'live-1';
/** The database of the nodes that run as processes. */
const NODES = 'actlog_bench_nodes';

/** The measurements of a cluster. */
export const cluster: Bench = {
  name: 'cluster',
  async run(options) {
    const url = process.env['BENCH_DATABASE_URL'] ?? '';
    return url === '' ? [] : measured(url, options);
  },
};

async function measured(url: string, options: BenchOptions): Promise<Figure[]> {
  const { quick, entries: wanted = 0 } = options;
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
    while (shared.log.size() < wanted) await appends(shared.log, draft, count);
    await writeSnapshot(database, replica);
    await appends(shared.log, draft, count);
    const [began, processor] = [performance.now(), process.cpuUsage()];
    const fresh = await open('fresh');
    await loadSnapshot(database, fresh, () => undefined);
    while ((await fresh.pull()).more);
    const entries = shared.log.size();
    const filled = entries / ((performance.now() - began) / 1000);
    const { user, system } = process.cpuUsage(processor);
    await fresh.close();
    await database.postgres.once(`DROP DATABASE IF EXISTS ${NODES} WITH (FORCE)`);
    await database.postgres.once(`CREATE DATABASE ${NODES}`);
    const address = new URL(url);
    address.pathname = `/${NODES}`;
    const nodes = await measureNodes(join(folder.path, 'nodes'), address.href, quick);
    await database.postgres.once(`DROP DATABASE ${NODES} WITH (FORCE)`);
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
        what: 'longest time until a follower answers for an entry, at 1,000 entries/s',
        unit: 'ms',
        better: 'lower',
        at_least: 1000,
        aim: 100,
        value: nodes.lag_ms,
        parts: { median_ms: nodes.lags_ms, entries: nodes.rate },
        steal: stolen,
      },
      {
        name: 'cluster.failover',
        what: 'longest time from SIGKILL of the leader to the first acknowledged write',
        unit: 's',
        better: 'lower',
        at_least: 5,
        aim: 4,
        value: nodes.failover_s,
        parts: { median_s: nodes.failovers_s },
        steal: stolen,
      },
      {
        name: 'cluster.idle',
        what: 'cores that a follower uses while nothing is written',
        unit: 'ratio',
        better: 'lower',
        at_least: 0.02,
        aim: 0.01,
        value: nodes.idle,
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
        parts: { filled, entries, processor_s: (user + system) / 1_000_000 },
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
