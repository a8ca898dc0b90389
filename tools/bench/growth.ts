// Whether an append costs more in a large log than in a small one: entries on chains that exist, with as many keys in both
// maps, and entries that open a chain each, as most payments and acts do. The large log has a million entries, or as many
// as `--entries` says.

import { inFlight, openBenchLog, rowDraft, wideDraft, WIDE_LINKS } from './bench-log.ts';
import { builtLog } from './built-log.ts';
import type { BuiltSize } from './built-log.ts';
import type { Draft } from '../../log/index.ts';
import { interleave, stealMeter } from './figure.ts';
import type { Bench, BenchOptions, Figure } from './figure.ts';

const SMALL = 10_000;

/** Append cost in the large log ÷ in the small one. */
export const growth: Bench = {
  name: 'growth',
  run: async (options) => [await onKnownChains(options), await onNewChains(options)],
};

/** 80,000 chains in both, which the first 10,000 entries open, eight each. */
async function onKnownChains({ quick, entries }: BenchOptions): Promise<Figure> {
  const keys = (quick ? SMALL / 4 : SMALL) * WIDE_LINKS;
  const opening = keys / WIDE_LINKS;
  const large = entries ?? (quick ? 100_000 : 1_000_000);
  let n = 0;
  const next = (): Draft => {
    n += 1;
    return wideDraft(String((n * 104_729) % opening));
  };
  return {
    ...{ name: 'growth.append', at_least: 1.2, aim: 1.1 },
    what: `append cost at ${String(large)} entries ÷ at ${String(opening)}, ${String(keys)} keys at both`,
    ...(await compared({ entries: opening, keys }, { entries: large, keys }, next, quick)),
  };
}

async function onNewChains({ quick, entries }: BenchOptions): Promise<Figure> {
  const small = quick ? SMALL / 4 : SMALL;
  const large = entries ?? (quick ? 20_000 : 1_000_000);
  let n = 0;
  const next = (): Draft => {
    n += 1;
    return rowDraft({ item: `new-${String(n)}` });
  };
  const keys = 'one each';
  return {
    // Its rows are ordered by hashes, so LevelDB merges them into every level, and levels grow with the logarithm.
    ...{ name: 'growth.new_chains', at_least: 2, aim: 1.5 },
    what: `append cost at ${String(large)} entries ÷ at ${String(small)}, a new chain for each entry`,
    ...(await compared({ entries: small, keys }, { entries: large, keys }, next, quick)),
  };
}

type Compared = Omit<Figure, 'name' | 'what' | 'at_least' | 'aim'>;

async function compared(
  smallSize: BuiltSize,
  largeSize: BuiltSize,
  next: () => Draft,
  quick: boolean,
): Promise<Compared> {
  const [smallData, largeData] = [await builtLog(smallSize), await builtLog(largeSize)];
  const [small, large] = [await openBenchLog(smallData.path), await openBenchLog(largeData.path)];
  const appends =
    ({ log }: typeof small) =>
    (): Promise<number> =>
      inFlight(quick ? 5_000 : 15_000, () => log.append([next()]));
  try {
    await appends(small)();
    await appends(large)();
    const steal = stealMeter();
    const parts = await interleave(quick ? 3 : 7, {
      small: appends(small),
      large: appends(large),
    });
    return {
      unit: 'ratio',
      better: 'lower',
      value: parts.small / parts.large,
      parts,
      steal: steal(),
    };
  } finally {
    await small.close();
    await large.close();
    await smallData.close();
    await largeData.close();
  }
}
