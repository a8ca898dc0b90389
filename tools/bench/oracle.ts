// The oracle against Koa alone, over 64 keep-alive connections: five readings as one value, signed and durable.

import { temporaryFolder } from './bench-log.ts';
import { firstStart, startBareKoa, startService } from './child.ts';
import type { ChildProgram } from './child.ts';
import { interleave, stealMeter } from './figure.ts';
import type { Bench } from './figure.ts';
import { fire, rate } from './wire.ts';
import type { Shot } from './wire.ts';

const SOURCES = ['net_a', 'net_b', 'net_c', 'first_party', 'sealed'];
const READINGS = JSON.stringify({
  feed_id: 'bench',
  readings: SOURCES.map((source_id, n) => ({ source_id, value: `100.${String(n)}` })),
});

/** POST /api/v1/oracle/aggregate. */
export const oracle: Bench = {
  name: 'oracle',
  run: async (options) => {
    const seconds = options.quick ? 2 : 6;
    const folder = await temporaryFolder();
    const started: ChildProgram[] = [];
    try {
      const key = await firstStart(folder.path);
      const bare = await startBareKoa();
      started.push(bare);
      const service = await startService(folder.path);
      started.push(service);
      const headers = { 'content-type': 'application/json', 'x-api-key': key };
      const post = (url: string): Shot => ({
        ...{ url, seconds, headers },
        ...{ method: 'POST', body: READINGS },
      });
      const aggregate = `${service.url}/api/v1/oracle/aggregate`;
      await fire(post(aggregate)); // warm
      const steal = stealMeter();
      const parts = await interleave(options.quick ? 2 : 5, {
        aggregate: () => rate(post(aggregate)),
        echo: () => rate(post(`${bare.url}/echo`)),
      });
      return [
        {
          name: 'oracle.http',
          what: 'POST oracle/aggregate of five readings ÷ bare Koa JSON echo, 64 connections',
          ...{ unit: 'ratio', better: 'higher', at_least: 0.15, aim: 0.3 },
          value: parts.aggregate / parts.echo,
          ...{ parts, steal: steal() },
        },
      ];
    } finally {
      for (const child of started) await child.stop();
      await folder.remove();
    }
  },
};
