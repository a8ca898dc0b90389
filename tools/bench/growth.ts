// Whether an append costs more in a large log: the same drafts on chains that exist, in a log of a million entries, or of
// as many as `--entries` says, and in a small one, with as many keys in both maps.

import { inFlight, openBenchLog, wideDraft, WIDE_LINKS } from './bench-log.ts';
import { builtLog } from './built-log.ts';
import { interleave, stealMeter } from './figure.ts';
import type { Bench } from './figure.ts';

/** Append cost at 1,000,000 entries ÷ at 10,000, the number that opens 80,000 chains, eight links each. */
export const growth: Bench = {
  name: 'growth',
  run: async ({ quick, entries = quick ? 100_000 : 1_000_000 }) => {
    const keys = quick ? 20_000 : 80_000;
    const opening = keys / WIDE_LINKS;
    const sizes = { small: opening, large: entries };
    const [smallData, largeData] = [
      await builtLog({ entries: sizes.small, keys }),
      await builtLog({ entries: sizes.large, keys }),
    ];
    const small = await openBenchLog(smallData.path);
    const large = await openBenchLog(largeData.path);
    let n = 0;
    const appends =
      ({ log }: typeof small) =>
      (): Promise<number> =>
        inFlight(quick ? 5_000 : 15_000, () => {
          n += 1;
          return log.append([wideDraft(String((n * 104_729) % opening))]);
        });
    try {
      await appends(small)();
      await appends(large)();
      const steal = stealMeter();
      const parts = await interleave(quick ? 3 : 7, {
        small: appends(small),
        large: appends(large),
      });
      return [
        {
          name: 'growth.append',
          what: `append cost at ${String(sizes.large)} entries ÷ at ${String(sizes.small)}, ${String(keys)} keys at both`,
          unit: 'ratio',
          better: 'lower',
          at_least: 1.2,
          aim: 1.1,
          value: parts.small / parts.large,
          parts,
          steal: steal(),
        },
      ];
    } finally {
      await small.close();
      await large.close();
      await smallData.close();
      await largeData.close();
    }
  },
};
