// A POST route against Koa alone that echoes the same body, over 64 keep-alive connections.

import { temporaryFolder } from './bench-log.ts';
import { firstStart, startBareKoa, startService } from './child.ts';
import type { ChildProgram } from './child.ts';
import { interleave, median, stealMeter } from './figure.ts';
import type { Bench, BenchOptions, Figure } from './figure.ts';
import { fire, rate } from './wire.ts';
import type { Shot } from './wire.ts';

interface Limits {
  readonly at_least: number;
  readonly aim: number;
}

/** What is posted, and what it must reach. */
export interface Posted extends Limits {
  /** Name of the figure; that of the p99 is `<name>_p99`. */
  readonly name: string;
  readonly what: string;
  readonly path: string;
  readonly body: string | (() => string);
  /** In milliseconds; no figure without it. */
  readonly p99?: Limits;
}

/** A service on a folder of its own, and bare Koa. */
export interface Pair {
  readonly service: ChildProgram;
  readonly bare: ChildProgram;
  readonly headers: Readonly<Record<string, string>>;
}

/** The bench of one route, on a service that `prepare` has set up. */
export const postBench = (
  name: string,
  posted: Posted,
  prepare: (pair: Pair) => Promise<void> = () => Promise.resolve(),
): Bench => ({
  name,
  run: async (options) => {
    const folder = await temporaryFolder();
    const started: ChildProgram[] = [];
    try {
      const key = await firstStart(folder.path);
      const bare = await startBareKoa();
      started.push(bare);
      const service = await startService(folder.path);
      started.push(service);
      const pair = { service, bare, headers: headersOf(key) };
      await prepare(pair);
      return await againstEcho(pair, posted, options);
    } finally {
      for (const child of started) await child.stop();
      await folder.remove();
    }
  },
});

/** Headers of a JSON request with a key. */
export const headersOf = (key: string): Pair['headers'] => ({
  'content-type': 'application/json',
  'x-api-key': key,
});

/** Posts to the service and to the echo by turns. */
export async function againstEcho(
  { service, bare, headers }: Pair,
  { name, what, path, body, at_least, aim, p99 }: Posted,
  { quick }: BenchOptions,
): Promise<Figure[]> {
  const post = (url: string): Shot => ({
    ...{ url, seconds: quick ? 2 : 6 },
    ...{ method: 'POST', headers, body },
  });
  await fire(post(service.url + path)); // warm
  const latencies: number[] = [];
  const steal = stealMeter();
  const parts = await interleave(quick ? 2 : 5, {
    service: async () => {
      const fired = await fire(post(service.url + path));
      latencies.push(fired.p99_ms);
      return fired.rate;
    },
    echo: () => rate(post(`${bare.url}/echo`)),
  });
  const common = { steal: steal(), parts };
  const ratio: Figure = {
    ...{ ...common, name, what: `${what} ÷ bare Koa JSON echo, 64 connections` },
    ...{ unit: 'ratio', better: 'higher', at_least, aim },
    value: parts.service / parts.echo,
  };
  if (p99 === undefined) return [ratio];
  return [
    ratio,
    {
      ...{ ...common, name: `${name}_p99`, what: `p99 of ${what}, 64 connections` },
      ...{ unit: 'ms', better: 'lower', ...p99 },
      value: median(latencies),
    },
  ];
}

// The oracle: five readings as one value, signed and durable.

const SOURCES = ['net_a', 'net_b', 'net_c', 'first_party', 'sealed'];
const READINGS = JSON.stringify({
  feed_id: 'bench',
  readings: SOURCES.map((source_id, n) => ({ source_id, value: `100.${String(n)}` })),
});

/** POST /api/v1/oracle/aggregate. */
export const oracle = postBench('oracle', {
  ...{ name: 'oracle.http', what: 'POST oracle/aggregate of five readings' },
  ...{ path: '/api/v1/oracle/aggregate', body: READINGS, at_least: 0.2, aim: 0.35 },
});
