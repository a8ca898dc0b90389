// What agents wait for, against Koa alone, over 64 keep-alive connections: an execute-gate that permits, one entry,
// and a payment bound to its act, two.

import { temporaryFolder } from './bench-log.ts';
import { firstStart, startBareKoa, startService } from './child.ts';
import type { ChildProgram } from './child.ts';
import { interleave, median, stealMeter } from './figure.ts';
import type { Bench, BenchOptions, Figure } from './figure.ts';
import { fire, rate } from './wire.ts';
import type { Shot } from './wire.ts';

const GATE = '/api/v1/execute-gate';
const POLICY = { rules: [{ id: 'payments', effect: 'allow', action_prefixes: ['payment.'] }] };
const ACT = JSON.stringify({
  action_type: 'payment.release',
  agent_id: 'agent:bench',
  amount_atomic: 42_000_000,
  currency: 'USDC',
  reversibility: 'irreversible',
});

let payments = 0;

/** Every payment is another one: a bind that is repeated appends nothing. */
function payment(): string {
  payments += 1;
  const payment_hash = payments.toString(16).padStart(64, '0');
  return JSON.stringify({ payment_hash, action_type: 'payment.settle', agent_id: 'agent:bench' });
}

/** One route against the echo of the same body. */
interface Measured {
  readonly name: string;
  readonly what: string;
  readonly path: string;
  readonly body: string | (() => string);
  readonly at_least: number;
  readonly aim: number;
}

/** POST execute-gate. */
export const gate: Bench = {
  name: 'gate',
  run: (options) =>
    measure(options, {
      ...{ name: 'gate.http', what: 'POST execute-gate with a durable PERMIT', path: GATE },
      ...{ body: ACT, at_least: 0.25, aim: 0.4 },
    }),
};

/** POST bind-payment. */
export const bind: Bench = {
  name: 'bind',
  run: (options) =>
    measure(options, {
      ...{ name: 'bind.http', what: 'POST bind-payment, two durable entries' },
      ...{ path: '/api/v1/bind-payment', body: payment, at_least: 0.15, aim: 0.25 },
    }),
};

async function measure(options: BenchOptions, measured: Measured): Promise<Figure[]> {
  const { name, what, path, body, at_least, aim } = measured;
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
    const put = JSON.stringify(POLICY);
    const policy = await fetch(`${service.url}${GATE}/policy`, {
      method: 'POST',
      headers,
      body: put,
    });
    if (!policy.ok) throw new Error(`the policy is refused: ${await policy.text()}`);
    const post = (url: string): Shot => ({ url, seconds, method: 'POST', headers, body });
    await fire(post(service.url + path)); // warm
    const p99: number[] = [];
    const steal = stealMeter();
    const parts = await interleave(options.quick ? 2 : 5, {
      service: async () => {
        const fired = await fire(post(service.url + path));
        p99.push(fired.p99_ms);
        return fired.rate;
      },
      echo: () => rate(post(`${bare.url}/echo`)),
    });
    const common = { steal: steal(), parts };
    return [
      {
        ...{ ...common, name, what: `${what} ÷ bare Koa JSON echo, 64 connections` },
        ...{ unit: 'ratio', better: 'higher', at_least, aim },
        value: parts.service / parts.echo,
      },
      {
        ...{ ...common, name: `${name}_p99`, what: `p99 of ${what}, 64 connections` },
        ...{ unit: 'ms', better: 'lower', at_least: 120, aim: 60 },
        value: median(p99),
      },
    ];
  } finally {
    for (const child of started) await child.stop();
    await folder.remove();
  }
}
