// Webhooks to one host: how fast a queue drains that a restart found on disk, and what a request pays for it that
// its event is queued and delivered at the same time.

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstStart, startService } from './child.ts';
import type { ChildProgram } from './child.ts';
import { interleave, median, stealMeter } from './figure.ts';
import type { Bench, BenchOptions, Figure } from './figure.ts';
import { CONNECTIONS, fire } from './wire.ts';

const QUEUED = 10_000;
/** The receiver has an address of its own: the guard lets nothing else of this machine be reached. */
const ADDRESS = '127.0.0.2';
const SENDING = { EGRESS_ALLOW_HTTP: 'on', EGRESS_NETWORKS: `${ADDRESS}/32` };

/** A receiver that counts. */
interface Counter {
  readonly url: string;
  readonly count: () => number;
  whenCounted(count: number): Promise<void>;
  close(): Promise<void>;
}

/** Deliveries of a queue, and p99 of classify with and without webhooks. */
export const webhooks: Bench = {
  name: 'webhooks',
  run: async (options) => {
    const data = await mkdtemp(join(tmpdir(), 'actlog-bench-'));
    const receiver = await startCounter();
    try {
      const key = await firstStart(data);
      return [
        await delivery(data, key, receiver, options),
        await latency(data, key, receiver, options),
      ];
    } finally {
      await receiver.close();
      await rm(data, { recursive: true, force: true });
    }
  },
};

async function delivery(
  data: string,
  key: string,
  receiver: Counter,
  { quick }: BenchOptions,
): Promise<Figure> {
  const queued = quick ? QUEUED / 10 : QUEUED;
  const full = await startService(data, { ...SENDING, WEBHOOKS: 'off' });
  await fill(full, key, receiver.url, queued);
  await full.stop();
  const steal = stealMeter();
  const service = await startService(data, SENDING);
  // From the first message on: how long a start takes is another measurement.
  await receiver.whenCounted(1);
  const [start, before] = [performance.now(), receiver.count()];
  await receiver.whenCounted(queued);
  const seconds = (performance.now() - start) / 1000;
  await service.stop();
  const per_second = (queued - before) / seconds;
  return {
    name: 'webhooks.delivery',
    what: '10,000 queued webhooks delivered to one host after a restart',
    unit: 's',
    better: 'lower',
    at_least: QUEUED / 500,
    aim: QUEUED / 2000,
    value: QUEUED / per_second,
    parts: { delivered: per_second },
    steal: steal(),
  };
}

async function latency(
  data: string,
  key: string,
  receiver: Counter,
  options: BenchOptions,
): Promise<Figure> {
  const service = await startService(data, SENDING);
  const seconds = options.quick ? 2 : 5;
  let expected = receiver.count();
  const p99: Record<'with' | 'without', number[]> = { with: [], without: [] };
  const measure = (name: keyof typeof p99, more: object) => async (): Promise<number> => {
    const fired = await fire({
      ...{ url: `${service.url}/api/v1/classify`, seconds, method: 'POST' },
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      body: event(more),
    });
    p99[name].push(fired.p99_ms);
    // Messages that wait until the load ends are no part of the next measurement.
    if (name === 'with') await receiver.whenCounted((expected += fired.count));
    return fired.rate;
  };
  const steal = stealMeter();
  const parts = await interleave(options.quick ? 2 : 4, {
    without: measure('without', {}),
    with: measure('with', { webhook_url: receiver.url }),
  });
  await service.stop();
  const [p99_with, p99_without] = [median(p99.with), median(p99.without)];
  return {
    name: 'webhooks.classify_p99',
    what: 'p99 of POST classify with a webhook each ÷ without, 64 connections',
    unit: 'ratio',
    better: 'lower',
    at_least: 1.2,
    aim: 1.05,
    value: p99_with / p99_without,
    parts: { ...parts, p99_with_ms: p99_with, p99_without_ms: p99_without },
    steal: steal(),
  };
}

/** An empty message is ERROR, which is an event and costs the classifier nothing. */
const event = (more: object): string => JSON.stringify({ message: '', ...more });

/** Exactly so many classifications with a webhook each. */
async function fill(service: ChildProgram, key: string, url: string, count: number): Promise<void> {
  let left = count;
  const post = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const response = await fetch(`${service.url}/api/v1/classify`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': key },
        body: event({ webhook_url: url }),
      });
      if (!response.ok) throw new Error(`classify answered ${String(response.status)}`);
      await response.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, post));
}

async function startCounter(): Promise<Counter> {
  let counted = 0;
  let waiting: { readonly count: number; readonly done: () => void }[] = [];
  const server = createServer((req, res) => {
    req.resume();
    req.once('end', () => {
      res.writeHead(204).end();
      counted += 1;
      for (const { count, done } of waiting) if (counted >= count) done();
      waiting = waiting.filter(({ count }) => counted < count);
    });
  });
  server.listen(0, ADDRESS);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${ADDRESS}:${String(port)}/`,
    count: () => counted,
    whenCounted: (count) =>
      counted >= count
        ? Promise.resolve()
        : new Promise((done) => {
            waiting.push({ count, done });
          }),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
