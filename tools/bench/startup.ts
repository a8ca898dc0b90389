// How long the service takes on a large log from exec to its first answered checkpoint, and what memory it
// then holds.

import { builtLog } from './built-log.ts';
import { firstStart, startService } from './child.ts';
import { median, stealMeter } from './figure.ts';
import type { Bench } from './figure.ts';

/** Long enough for what a start leaves to be done after it answers. */
const SETTLE_MS = 3_000;

/** Start-up time and resident memory at 1,000,000 entries and keys. */
export const startup: Bench = {
  name: 'startup',
  run: async ({ quick }) => {
    const entries = quick ? 100_000 : 1_000_000;
    const data = await builtLog({ entries, keys: 'one each' });
    const steal = stealMeter();
    const seconds: number[] = [];
    const rss: number[] = [];
    const peak: number[] = [];
    let built = true;
    try {
      await firstStart(data.path);
      for (let run = 0; run < (quick ? 2 : 5); run += 1) {
        const start = performance.now();
        const service = await startService(data.path);
        const answer = await fetch(`${service.url}/log/live/1/checkpoint`);
        await answer.text();
        seconds.push((performance.now() - start) / 1000);
        if (answer.status !== 200) throw new Error(`checkpoint: ${String(answer.status)}`);
        await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
        const memory = service.memory();
        rss.push(memory.rss);
        peak.push(memory.peak);
        built = service.built;
        await service.stop();
      }
    } finally {
      await data.close();
    }
    const common = {
      better: 'lower',
      steal: steal(),
      parts: { entries, keys: entries, peak_rss_mb: median(peak), from_dist: built ? 1 : 0 },
    } as const;
    const at = `at ${String(entries)} entries and keys`;
    return [
      {
        ...common,
        name: 'startup.time',
        what: `exec to first answered checkpoint ${at}`,
        unit: 's',
        at_least: 3,
        aim: 1,
        value: median(seconds),
      },
      {
        ...common,
        name: 'startup.memory',
        what: `resident memory ${at}`,
        unit: 'MB',
        at_least: 600,
        aim: 300,
        value: median(rss),
      },
    ];
  },
};
