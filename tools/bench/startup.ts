// How long the service takes on a large log from exec to its first answered checkpoint, after it was stopped and after it
// was killed under load, and what memory it then holds.

import { builtLog } from './built-log.ts';
import { startService } from './child.ts';
import type { ChildProgram } from './child.ts';
import { median, stealMeter } from './figure.ts';
import type { Bench } from './figure.ts';
import { headersOf } from './post.ts';
import { fire } from './wire.ts';

/** Long enough for what a start leaves to be done after it answers. */
const SETTLE_MS = 3_000;

/** How long requests are answered before the service is killed. */
const LOAD_MS = 2_000;

/** Start-up time and resident memory at 1,000,000 entries and keys, or at as many as `--entries` says. */
export const startup: Bench = {
  name: 'startup',
  run: async ({ quick, entries = quick ? 100_000 : 1_000_000 }) => {
    const millions = Math.max(1, entries / 1_000_000);
    const data = await builtLog({ entries, keys: 'one each' });
    const steal = stealMeter();
    const seconds: number[] = [];
    const crashed: number[] = [];
    const rss: number[] = [];
    const peak: number[] = [];
    let built = true;
    const started = async (times: number[]): Promise<ChildProgram> => {
      const start = performance.now();
      const service = await startService(data.path);
      const answer = await fetch(`${service.url}/log/live/1/checkpoint`);
      await answer.text();
      times.push((performance.now() - start) / 1000);
      if (answer.status !== 200) throw new Error(`checkpoint: ${String(answer.status)}`);
      return service;
    };
    try {
      for (let run = 0; run < (quick ? 2 : 5); run += 1) {
        const service = await started(seconds);
        await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
        const memory = service.memory();
        rss.push(memory.rss);
        peak.push(memory.peak);
        built = service.built;
        await service.stop();
      }
      for (let run = 0; run < (quick ? 1 : 3); run += 1) {
        const service = await startService(data.path);
        await killUnderLoad(service, data.key);
        await (await started(crashed)).stop();
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
        at_least: 3 * millions,
        aim: millions,
        value: median(seconds),
      },
      {
        ...common,
        name: 'startup.crash',
        what: `exec to first answered checkpoint after SIGKILL under load ${at}`,
        unit: 's',
        at_least: 60,
        aim: 10,
        value: Math.max(...crashed),
      },
      {
        ...common,
        name: 'startup.memory',
        what: `resident memory ${at}`,
        unit: 'MB',
        at_least: 600 * millions,
        aim: 300 * millions,
        value: median(rss),
      },
    ];
  },
};

async function killUnderLoad(service: ChildProgram, key: string): Promise<void> {
  const load = fire({
    ...{ url: `${service.url}/api/v1/classify`, seconds: (2 * LOAD_MS) / 1000, method: 'POST' },
    ...{ headers: headersOf(key), body: JSON.stringify({ message: 'is this safe to run' }) },
  });
  const cut = load.then(
    () => Promise.reject(new Error('the service was not killed under load')),
    () => undefined,
  );
  await new Promise((resolve) => setTimeout(resolve, LOAD_MS));
  await service.kill();
  await cut;
}
