// What metering costs: durable appends of governed acts in a log whose plugins meter and net them, against the
// same entries in a log that only writes them down. gateway/API.md §10.2.

import type { EntryType, Log, Threads } from '../../log/index.ts';
import { openThreads } from '../../log/index.ts';
import { PLUGINS } from '../../plugins/index.ts';
import { inFlight, openBenchLog, rowDraft, TENANT, temporaryFolder } from './bench-log.ts';
import { interleave, stealMeter } from './figure.ts';
import type { Bench, BenchOptions, Figure } from './figure.ts';

/** A month's row with a toll of every kind is the largest that an act rewrites. */
const TOLLS = 26;

/** Metered and plain appends, and a read of a tenant's month. */
export const metering: Bench = {
  name: 'metering',
  run: async (options) => {
    const threads = openThreads();
    const [metered, plain] = [await opened(threads, meters()), await opened(threads, [])];
    try {
      const steal = stealMeter();
      const parts = await interleave(options.quick ? 3 : 7, {
        metered: acts(metered.log, options),
        plain: acts(plain.log, options),
      });
      const month = new Date().toISOString().slice(0, 7);
      const read = reads(metered.log, `clear/month/${month}/${TENANT}`);
      const common = { steal: steal() };
      const figures: Figure[] = [
        {
          ...common,
          name: 'metering.append',
          what: 'durable appends/s of governed acts, metered and netted ÷ only written',
          unit: 'ratio',
          better: 'higher',
          at_least: 0.9,
          aim: 0.95,
          value: parts.metered / parts.plain,
          parts,
        },
        {
          ...common,
          name: 'metering.usage',
          what: "reading a tenant's month, whatever its acts",
          unit: 'ms',
          better: 'lower',
          at_least: 5,
          aim: 1,
          value: read,
          parts: { acts: Number(monthOf(metered.log, month)) },
        },
      ];
      return figures;
    } finally {
      await metered.close();
      await plain.close();
      await threads.close();
    }
  },
};

/** The types of the plugins that watch. */
const meters = (): readonly EntryType[] =>
  PLUGINS.filter(({ types }) => types.some(({ watch }) => watch !== undefined)).flatMap(
    ({ types }) => types,
  );

async function opened(threads: Threads, types: readonly EntryType[]) {
  const folder = await temporaryFolder();
  const { log } = await openBenchLog(folder.path, { threads });
  await log.declare(types);
  return {
    log,
    close: async (): Promise<void> => {
      await log.close();
      await folder.remove();
    },
  };
}

const acts =
  (log: Log, { quick }: BenchOptions) =>
  (): Promise<number> => {
    let n = 0;
    return inFlight(quick ? 10_000 : 30_000, () => {
      n += 1;
      const toll = {
        id: `toll-${String(n % TOLLS)}`,
        micro_usd: 50_000,
        cleared_micro_usd: n % 4 === 0 ? 42_000_000 : 0,
      };
      return log.append([{ ...rowDraft({ item: `i-${String(n)}` }), toll }]);
    });
  };

/** Milliseconds of one read, over many. */
function reads(log: Log, key: string): number {
  const count = 1000;
  const start = performance.now();
  for (let i = 0; i < count; i += 1) log.row(key);
  return (performance.now() - start) / count;
}

function monthOf(log: Log, month: string): unknown {
  return (log.row(`clear/network/${month}`) as { readonly acts?: number } | undefined)?.acts ?? 0;
}
